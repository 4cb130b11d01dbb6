"""The command line: what the operator would do, told from files, without a cluster."""

from plimsoll.cli.program import main

__all__ = ["main"]
