"""What the pages tell users to type is there: each command of ours, and each of its options."""

import re
from pathlib import Path

import pytest

from plimsoll.cli import main
from support.project.pages import ROOT, pages

BLOCK = re.compile(r"^ *```console\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (plimsoll .*)$", re.MULTILINE)
COMMAND = re.compile(
    r"(?:^|\$ |&& |\| )(?:kubectl )?plimsoll ((?:[a-z][a-z-]*)(?: kueue| karpenter)?)([^|#>]*)"
)


def commands(page: Path) -> list[tuple[str, tuple[str, ...]]]:
    """The commands that a page shows, each with its options."""
    text = page.read_text()
    shown = [*BLOCK.findall(text), *INDENTED.findall(text)]
    lines = [line.strip() for block in shown for line in block.splitlines()]
    found = (match for line in lines for match in COMMAND.finditer(line))
    return [
        (name, tuple(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", rest)))
        for name, rest in (m.groups() for m in found)
    ]


SHOWN = sorted({(*each, page.relative_to(ROOT)) for page in pages() for each in commands(page)})


def test_the_guides_show_commands() -> None:
    assert {name for name, _, page in SHOWN if page.name == "kueue.md"} >= {"import kueue"}


@pytest.mark.parametrize(("name", "options", "page"), SHOWN, ids=str)
def test_a_command_of_the_pages_is_there_with_its_options(
    name: str, options: tuple[str, ...], page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), "--help"])
    assert ended.value.code == 0, page
    known = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", capsys.readouterr().out)
    assert {*options} <= {*known}, page
