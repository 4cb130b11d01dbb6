import pytest

from plimsoll_devcluster import go_build, versions


@pytest.mark.parametrize(
    "requirement",
    [
        f"k8s.io/kubernetes v{versions.KUBERNETES}",
        f"sigs.k8s.io/kwok v{versions.KWOK}",
    ],
)
def test_the_go_module_builds_the_versions_that_are_downloaded(requirement: str) -> None:
    assert requirement in (go_build.MODULE / "go.mod").read_text()
