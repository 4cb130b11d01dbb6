from pathlib import Path

import pytest

from plimsoll_devcluster import versions
from plimsoll_devcluster.prometheus_program import NoPrometheusError, find_prometheus
from plimsoll_devcluster.source_failed import SourceFailedError


def put(program: Path) -> Path:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.touch(mode=0o755)
    return program


def build(folder: Path) -> None:
    put(folder / "prometheus")


def never(_folder: Path) -> None:
    pytest.fail("nothing was to be built")


def fail(_folder: Path) -> None:
    raise SourceFailedError("there is no Go on this machine")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path / "bin")}


def test_a_given_program_comes_first(environment: dict[str, str], tmp_path: Path) -> None:
    put(tmp_path / "bin" / "prometheus")
    given = put(tmp_path / "given")
    environment["PLIMSOLL_PROMETHEUS_BINARY"] = str(given)
    assert find_prometheus(environment, never) == given


def test_a_given_program_that_is_none_is_not_passed_over(environment: dict[str, str]) -> None:
    environment["PLIMSOLL_PROMETHEUS_BINARY"] = "/nowhere"
    with pytest.raises(NoPrometheusError, match="/nowhere"):
        find_prometheus(environment, build)


def test_what_is_installed_is_used(environment: dict[str, str], tmp_path: Path) -> None:
    installed = put(tmp_path / "bin" / "prometheus")
    assert find_prometheus(environment, never) == installed


def test_it_is_built_once(environment: dict[str, str], tmp_path: Path) -> None:
    expected = tmp_path / f"cache/plimsoll/prometheus-{versions.PROMETHEUS}/prometheus"
    assert find_prometheus(environment, build) == expected
    assert find_prometheus(environment, never) == expected


def test_without_any_the_error_names_every_way_out(environment: dict[str, str]) -> None:
    with pytest.raises(NoPrometheusError) as caught:
        find_prometheus(environment, fail)
    for way in ("no Go", "PLIMSOLL_PROMETHEUS_BINARY", "PATH", "Debian"):
        assert way in str(caught.value)
