import pytest

from plimsoll_devcluster.programs import go_build, versions
from plimsoll_devcluster.programs.karpenter_program import KARPENTER
from plimsoll_devcluster.programs.keda_program import KEDA, KEDA_ADAPTER
from plimsoll_devcluster.programs.kueue_program import KUEUE
from plimsoll_devcluster.programs.workload_controllers import ALL, ControllerProgram


@pytest.mark.parametrize(
    "requirement",
    [
        f"k8s.io/kubernetes v{versions.KUBERNETES}",
        f"sigs.k8s.io/kwok v{versions.KWOK}",
    ],
)
def test_the_go_module_builds_the_versions_that_are_downloaded(requirement: str) -> None:
    assert requirement in (go_build.MODULE / "go.mod").read_text()


def test_the_go_module_builds_the_prometheus_that_it_is_called() -> None:
    required = f"{go_build.PROMETHEUS} v{versions.PROMETHEUS_MODULE}"
    assert required in (go_build.PROMETHEUS_MODULE / "go.mod").read_text()
    major, minor, patch = map(int, versions.PROMETHEUS.split("."))
    assert f"0.{major}{minor:02}.{patch}" == versions.PROMETHEUS_MODULE


@pytest.mark.parametrize("program", [*ALL, KARPENTER, KEDA, KEDA_ADAPTER, KUEUE])
def test_the_go_modules_build_the_controllers_that_they_are_called(
    program: ControllerProgram,
) -> None:
    assert f"{program.module} v{program.version}" in (program.build_in / "go.mod").read_text()
