"""What the reference shows that commands print, compared with what they do print."""

import re

from support.project.pages import ROOT

REFERENCE = ROOT / "docs" / "reference" / "cli.md"
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_AGE = re.compile(r"\b(\d+[smhd]){1,2}\b")


def shown_after(command: str) -> list[str]:
    """The lines that the reference shows below a command, up to the next one."""
    text = REFERENCE.read_text()
    _, found, rest = text.partition(f"\n$ {command}\n")
    assert found, f"{REFERENCE.name} shows no output of {command}"
    return normal(re.split(r"^(?:```|\$ )", rest, maxsplit=1, flags=re.MULTILINE)[0])


def normal(printed: str, *, namespace: str = "team") -> list[str]:
    """The lines as they would be in namespace `team` at another time, with single spaces."""
    text = _TIME.sub("TIME", _AGE.sub("AGE", printed.replace(namespace, "team")))
    return [" ".join(line.split()) for line in text.strip().splitlines()]
