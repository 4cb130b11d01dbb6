"""Colours for a terminal; plain text everywhere else."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Final

from rich.color import ColorSystem
from rich.style import Style

Paint = Callable[[str], str]
"""A word that names a state, in the colour of that state."""

_GOOD, _BAD, _WARN, _FAINT = (Style(color=name) for name in ("green", "red", "yellow", "cyan"))
_STYLES: Final[Mapping[str, Style]] = {
    **dict.fromkeys(("Running", "Ready", "Admit", "Keep", "Complete", "Enforce"), _GOOD),
    **dict.fromkeys(
        ("Failed", "Degraded", "Unhealthy", "NotReady", "Quarantined", "Preempt"), _BAD
    ),
    **dict.fromkeys(
        ("Waiting", "Starting", "Draining", "InterruptionNotice", "Cordoned", "Migrate", "Hold"),
        _WARN,
    ),
    **dict.fromkeys(("Ordered", "Suspended", "Resize", "Advise"), _FAINT),
}
_HEADING: Final = Style(bold=True)


def plain(word: str) -> str:
    """The word without colour."""
    return word


def coloured(word: str) -> str:
    """The word in colour, for a terminal; words that mean no state have none."""
    style = _STYLES.get(word)
    return word if style is None else style.render(word, color_system=ColorSystem.STANDARD)


def heading(text: str, paint: Paint) -> str:
    """A heading, in bold where there are colours."""
    if paint is plain:
        return text
    return _HEADING.render(text, color_system=ColorSystem.STANDARD)


def paint_for(*, no_color: bool) -> Paint:
    """Colours if a person looks on at a terminal, and has not said that they want none.

    See https://no-color.org for NO_COLOR.
    """
    refused = no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return plain if refused or not sys.stdout.isatty() else coloured
