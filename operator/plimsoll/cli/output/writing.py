"""In which form is an answer written? JSON and YAML for programs, text for people."""

import os
import shutil
import sys
from collections.abc import Callable

import msgspec
import yaml

from plimsoll.cli.output.report import Line


def written(answer: Line, output: str, text: Callable[[], str]) -> str:
    """The answer in the form that was asked for."""
    match output:
        case "json":
            return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode() + "\n"
        case "yaml":
            plain = msgspec.to_builtins(answer, str_keys=True)
            return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
        case _:
            return text()


def width() -> int | None:
    """The width of the terminal; into a file or a pipe lines are not wrapped, for grep's sake."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None
