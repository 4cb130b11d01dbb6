from collections.abc import Callable
from pathlib import Path

import pytest

from plimsoll_devcluster.programs import versions
from plimsoll_devcluster.programs.control_plane_programs import Source
from plimsoll_devcluster.programs.debian_package import unpack_program
from plimsoll_devcluster.programs.prometheus_program import (
    NoPrometheusError,
    find_prometheus,
    find_promtool,
)
from plimsoll_devcluster.programs.source_failed import SourceFailedError


def put(program: Path) -> Path:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.touch(mode=0o755)
    return program


def build(folder: Path) -> None:
    put(folder / "prometheus")


def unwanted(_folder: Path) -> None:
    pytest.fail("this source was not to be asked")


def broken(_folder: Path) -> None:
    raise SourceFailedError("there is no Go on this machine")


def source(fill: Callable[[Path], None]) -> list[Source]:
    return [Source("a source", fill)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path / "bin")}


def test_a_given_program_comes_first(environment: dict[str, str], tmp_path: Path) -> None:
    put(tmp_path / "bin" / "prometheus")
    given = put(tmp_path / "given")
    environment["PLIMSOLL_PROMETHEUS_BINARY"] = str(given)
    assert find_prometheus(environment, source(unwanted)) == given


def test_a_given_program_that_is_none_is_not_passed_over(environment: dict[str, str]) -> None:
    environment["PLIMSOLL_PROMETHEUS_BINARY"] = "/nowhere"
    with pytest.raises(NoPrometheusError, match="/nowhere"):
        find_prometheus(environment, source(build))


def test_what_is_installed_is_used(environment: dict[str, str], tmp_path: Path) -> None:
    installed = put(tmp_path / "bin" / "prometheus")
    assert find_prometheus(environment, source(unwanted)) == installed


def test_the_first_source_that_can_fills_the_cache(
    environment: dict[str, str], tmp_path: Path
) -> None:
    expected = tmp_path / f"cache/plimsoll/prometheus-{versions.PROMETHEUS}/prometheus"
    sources = [*source(broken), *source(build), *source(unwanted)]
    assert find_prometheus(environment, sources) == expected
    assert find_prometheus(environment, source(unwanted)) == expected


def test_promtool_is_looked_for_by_itself(environment: dict[str, str], tmp_path: Path) -> None:
    environment["PLIMSOLL_PROMETHEUS_BINARY"] = str(put(tmp_path / "given"))

    def build_promtool(folder: Path) -> None:
        put(folder / "promtool")

    expected = tmp_path / f"cache/plimsoll/promtool-{versions.PROMETHEUS}/promtool"
    assert find_promtool(environment, source(build_promtool)) == expected
    with pytest.raises(NoPrometheusError, match="PLIMSOLL_PROMTOOL_BINARY"):
        find_promtool({"XDG_CACHE_HOME": str(tmp_path), "PATH": ""}, source(broken))


def test_without_any_the_error_names_every_way_out(environment: dict[str, str]) -> None:
    with pytest.raises(NoPrometheusError) as caught:
        find_prometheus(environment, source(broken))
    for way in ("no Go", "PLIMSOLL_PROMETHEUS_BINARY", "PATH", "Debian"):
        assert way in str(caught.value)


@pytest.mark.slow
def test_a_package_that_is_unknown_is_no_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceFailedError):
        unpack_program("plimsoll-has-no-package", "prometheus", tmp_path)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SourceFailedError, match="no Debian"):
        unpack_program("prometheus", "prometheus", tmp_path)
    assert list(tmp_path.iterdir()) == []
