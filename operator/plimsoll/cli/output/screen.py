"""Show one state after the other: in place, or one below the other."""

import shutil
import sys
from typing import Final

_HOME: Final = "\N{ESCAPE}[H"
_REST_OF_LINE: Final = "\N{ESCAPE}[K"
_BELOW: Final = "\N{ESCAPE}[J"
_CLEAR: Final = "\N{ESCAPE}[2J"


class Screen:
    """What was shown last; `in_place` it is drawn over, for which it must stand on a terminal."""

    def __init__(self, *, in_place: bool) -> None:
        self._last = ""
        self._in_place = in_place

    def show(self, text: str) -> None:
        """Show the next state."""
        if self._in_place:
            self._redraw(text)
        else:
            self._append(text)
        self._last = text
        sys.stdout.flush()

    def _redraw(self, text: str) -> None:
        """Draw over the last state, as much as there is room for; nothing flickers."""
        rows = shutil.get_terminal_size().lines - 1
        lines = text.splitlines()
        if len(lines) > rows:
            lines = [*lines[: rows - 1], f"… {len(lines) - rows + 1} more lines"]
        start = _HOME if self._last else _CLEAR + _HOME
        sys.stdout.write(start + "".join(f"{line}{_REST_OF_LINE}\n" for line in lines) + _BELOW)

    def _append(self, text: str) -> None:
        """Below the last state, with an empty line between if they are of several lines."""
        several = text.count("\n") > 1
        sys.stdout.write(f"\n{text}" if self._last and several else text)
