"""Kueue as a program: found, or built, as the controllers of workloads are."""

from plimsoll_devcluster.programs import versions
from plimsoll_devcluster.programs.go_build import HACK
from plimsoll_devcluster.programs.workload_controllers import CRDS, WEBHOOKS, ControllerProgram

_MODULE = "sigs.k8s.io/kueue"

KUEUE = ControllerProgram(
    name="kueue",
    title="Kueue",
    version=versions.KUEUE,
    module=_MODULE,
    package=f"{_MODULE}/cmd/kueue",
    build_in=HACK / "kueue",
    beside={
        CRDS: "config/components/crd/bases/*.yaml",
        WEBHOOKS: "config/components/webhook/manifests.yaml",
    },
)
