"""The versions of all programs that tests run; hack/*/go.mod name the same.

The packages of npm with their hashes, as `npm view NAME version dist.integrity` prints them.
"""

from plimsoll_devcluster.programs.npm_package import NpmPackage

KUBERNETES = "1.36.3"
KWOK = "0.8.0"
PROMETHEUS = "3.5.3"
PROMETHEUS_MODULE = "0.305.3"  # its Go module has a numbering of its own
JOBSET = "0.12.0"
TRAINER = "2.3.0"
TRAINING_OPERATOR = "1.9.3"
KUBERAY = "1.6.2"
APPWRAPPER = "1.2.2"
KARPENTER = "1.14.1"
KEDA = "2.21.0"
KUEUE = "0.19.2"
CHROMIUM = NpmPackage(
    "@sparticuz/chromium",
    "153.0.0",
    "sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
)
AXE = NpmPackage(
    "axe-core",
    "4.14.1",
    "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
)
