from collections.abc import Callable
from pathlib import Path

import pytest

from plimsoll_devcluster.programs.axe_script import NoAxeError, find_axe
from plimsoll_devcluster.programs.chromium_program import NoChromiumError, find_chromium
from plimsoll_devcluster.programs.source_failed import SourceFailedError
from plimsoll_devcluster.programs.sources import Source

STARTS = "#!/bin/sh\nexit 0\n"
BREAKS = "#!/bin/sh\nexit 127\n"


def put(program: Path, script: str = STARTS) -> Path:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(script)
    program.chmod(0o755)
    return program


def unpack(folder: Path) -> None:
    put(folder / "chromium")


def unpack_for_another_machine(folder: Path) -> None:
    put(folder / "chromium", BREAKS)


def unwanted(_folder: Path) -> None:
    pytest.fail("this source was not to be asked")


def broken(_folder: Path) -> None:
    raise SourceFailedError("this is no Debian")


def source(fill: Callable[[Path], None]) -> Source:
    return Source("a source", fill)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path / "bin")}


def test_a_given_chromium_comes_first(environment: dict[str, str], tmp_path: Path) -> None:
    put(tmp_path / "bin" / "chromium")
    given = put(tmp_path / "given")
    environment["PLIMSOLL_CHROMIUM_BINARY"] = str(given)
    assert find_chromium(environment, [source(unwanted)]) == given


def test_a_given_one_that_does_not_start_is_not_passed_over(
    environment: dict[str, str], tmp_path: Path
) -> None:
    environment["PLIMSOLL_CHROMIUM_BINARY"] = str(put(tmp_path / "given", BREAKS))
    with pytest.raises(NoChromiumError, match="given is no program that starts"):
        find_chromium(environment, [source(unpack)])


@pytest.mark.parametrize("name", ["chromium", "google-chrome"])
def test_what_is_installed_is_used(environment: dict[str, str], tmp_path: Path, name: str) -> None:
    installed = put(tmp_path / "bin" / name)
    assert find_chromium(environment, [source(unwanted)]) == installed


def test_one_that_lacks_a_library_makes_room_for_the_next_source(
    environment: dict[str, str], tmp_path: Path
) -> None:
    sources = [source(unpack_for_another_machine), source(unpack), source(unwanted)]
    expected = tmp_path / "cache/plimsoll/chromium/chromium"
    assert find_chromium(environment, sources) == expected
    assert find_chromium(environment, [source(unwanted)]) == expected


def test_without_any_it_says_what_would_help(environment: dict[str, str]) -> None:
    with pytest.raises(NoChromiumError, match=r"no Debian(.|\n)*PLIMSOLL_CHROMIUM_BINARY"):
        find_chromium(environment, [source(broken)])


def test_axe_is_fetched_once(environment: dict[str, str], tmp_path: Path) -> None:
    def fetch(folder: Path) -> None:
        (folder / "axe.min.js").write_text("axe")

    found = find_axe(environment, [source(fetch)])
    assert found.read_text() == "axe"
    assert found.is_relative_to(tmp_path / "cache")
    assert find_axe(environment, [source(unwanted)]) == found


def test_without_axe_it_says_what_would_help(environment: dict[str, str]) -> None:
    with pytest.raises(NoAxeError, match=r"no Debian(.|\n)*PLIMSOLL_AXE_SCRIPT"):
        find_axe(environment, [source(broken)])
