"""How the program was called: by which name, and what was meant by a mistyped word."""

import difflib
import re
import sys
from collections.abc import Iterable
from pathlib import PurePath
from typing import Final

_PLUGIN: Final = "kubectl-plimsoll"
_OWN: Final = "plimsoll"
_IN_EXAMPLES: Final = re.compile(r"(?<!kubectl )(?<![\w./-])plimsoll(?= [a-z])")


def own_name() -> str:
    """What the user types: kubectl runs the program `kubectl-plimsoll` as `kubectl plimsoll`."""
    return "kubectl plimsoll" if PurePath(sys.argv[0]).stem == _PLUGIN else _OWN


def as_called(text: str) -> str:
    """A text of examples, with the name by which the program was called."""
    return _IN_EXAMPLES.sub(own_name(), text)


def did_you_mean(name: str, there: Iterable[str]) -> str:
    """A question that names what is most like a mistyped name, "" if nothing is."""
    near = difflib.get_close_matches(name, [*there], n=1)
    return f": did you mean {near[0]}?" if near else ""
