"""Output formats of results: JSON and YAML for programs, text for people."""

import os
import shutil
import sys
from collections.abc import Callable

import msgspec
import yaml

from plimsoll.cli.output.report import Line


def written(result: Line | dict[str, object], output: str, text: Callable[[], str]) -> str:
    """The result in the requested format; YAML is written in C, for clusters are large."""
    match output:
        case "json":
            return msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"
        case "yaml":
            plain = msgspec.to_builtins(result, str_keys=True)
            return yaml.dump(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
        case _:
            return text()


def width() -> int | None:
    """The terminal's width; None for files and pipes, so that grep sees whole lines."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None
