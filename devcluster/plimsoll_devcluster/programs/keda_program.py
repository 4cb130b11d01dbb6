"""KEDA's two programs: found, or built, as the controllers of workloads are."""

from plimsoll_devcluster.programs import versions
from plimsoll_devcluster.programs.go_build import HACK
from plimsoll_devcluster.programs.workload_controllers import CRDS, ControllerProgram

_MODULE = "github.com/kedacore/keda/v2"

KEDA = ControllerProgram(
    name="keda",
    title="KEDA's operator",
    version=versions.KEDA,
    module=_MODULE,
    package=f"{_MODULE}/cmd/operator",
    build_in=HACK / "keda",
    beside={CRDS: "config/crd/bases/*.yaml"},
)
KEDA_ADAPTER = ControllerProgram(
    name="keda-adapter",
    title="KEDA's metrics adapter",
    version=versions.KEDA,
    module=_MODULE,
    package=f"{_MODULE}/cmd/adapter",
    build_in=HACK / "keda",
)
