"""The versions of all programs that tests run; hack/*/go.mod name the same."""

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
