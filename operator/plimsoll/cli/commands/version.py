"""The command `plimsoll version`."""

import argparse
import platform
import sys
from importlib import metadata

NAME = "version"
ABOUT = "show the version of this program"
EXAMPLE = ""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(_options: argparse.Namespace) -> None:
    """Print the version."""
    ours, solver = metadata.version("plimsoll-operator"), metadata.version("ortools")
    python = platform.python_version()
    sys.stdout.write(f"plimsoll {ours} (OR-Tools {solver}, Python {python})\n")
