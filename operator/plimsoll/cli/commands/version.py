"""`plimsoll version`: which version this is."""

import argparse
import platform
import sys
from importlib import metadata

NAME = "version"
ABOUT = "show the version of this program"


def set_up(parser: argparse.ArgumentParser) -> None:
    """Tell the parser which options there are: none."""


def run(_options: argparse.Namespace) -> None:
    """Print the version."""
    ours, solver = metadata.version("plimsoll-operator"), metadata.version("ortools")
    python = platform.python_version()
    sys.stdout.write(f"plimsoll {ours} (OR-Tools {solver}, Python {python})\n")
