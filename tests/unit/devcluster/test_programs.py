from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from plimsoll_devcluster.processes.program_flags import PROGRAMS
from plimsoll_devcluster.programs.control_plane_programs import (
    NoProgramsError,
    Source,
    cache_folder,
    find_programs,
)
from plimsoll_devcluster.programs.source_failed import SourceFailedError


def put_programs(folder: Path, *, without: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        if name != without:
            (folder / name).touch(mode=0o755)


def fail(_folder: Path) -> None:
    raise SourceFailedError("there is no network")


def never(_folder: Path) -> None:
    pytest.fail("this source was not to be asked")


def source(fill: Callable[[Path], None]) -> Source:
    return Source("a source", fill)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_given_assets_come_first(environment: dict[str, str], tmp_path: Path) -> None:
    put_programs(tmp_path / "assets")
    put_programs(cache_folder(environment))
    environment["KUBEBUILDER_ASSETS"] = str(tmp_path / "assets")
    assert find_programs(environment, [source(never)]) == tmp_path / "assets"


def test_assets_that_lack_a_program_are_passed_over_and_said_so(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put_programs(tmp_path / "assets", without="kube-scheduler")
    put_programs(cache_folder(environment))
    environment["KUBEBUILDER_ASSETS"] = str(tmp_path / "assets")
    assert find_programs(environment, [source(never)]) == cache_folder(environment)
    assert "has no kube-scheduler" in capsys.readouterr().err


def test_a_full_cache_is_used_as_it_is(environment: dict[str, str]) -> None:
    put_programs(cache_folder(environment))
    assert find_programs(environment, [source(never)]) == cache_folder(environment)


def test_the_first_source_that_can_fills_the_cache(environment: dict[str, str]) -> None:
    folder = find_programs(environment, [source(fail), source(put_programs), source(never)])
    assert folder == cache_folder(environment)
    assert sorted(file.name for file in folder.iterdir()) == sorted(PROGRAMS)


def test_a_cache_that_lacks_a_program_is_filled_anew(environment: dict[str, str]) -> None:
    put_programs(cache_folder(environment), without="kwok")
    (cache_folder(environment) / "stale").touch()
    folder = find_programs(environment, [source(put_programs)])
    assert sorted(file.name for file in folder.iterdir()) == sorted(PROGRAMS)


def test_without_any_source_the_error_names_every_way_out(environment: dict[str, str]) -> None:
    with pytest.raises(NoProgramsError) as caught:
        find_programs(environment, [source(fail)])
    message = str(caught.value)
    assert "a source: there is no network" in message
    for way in ("PLIMSOLL_KUBECONFIG", "KUBEBUILDER_ASSETS", "plimsoll/control-plane", "Go"):
        assert way in message


def test_a_source_that_breaks_off_leaves_nothing_in_the_cache(environment: dict[str, str]) -> None:
    def break_off(folder: Path) -> None:
        put_programs(folder, without="kwok")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_programs(environment, [source(break_off)])
    kept = [file.name for file in cache_folder(environment).parent.iterdir()]
    assert kept == [f"{cache_folder(environment).name}.lock"]


def test_two_at_once_fill_the_cache_once(environment: dict[str, str]) -> None:
    first_is_filling = Event()
    fills: list[Path] = []

    def fill(folder: Path) -> None:
        fills.append(folder)
        first_is_filling.set()
        put_programs(folder)

    def second() -> Path:
        first_is_filling.wait(10)
        return find_programs(environment, [source(fill)])

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(find_programs, environment, [source(fill)]), pool.submit(second)]
        assert [future.result() for future in found] == [cache_folder(environment)] * 2
    assert len(fills) == 1
