"""The command line: plans and explanations from files, snapshots or a running cluster."""

from plimsoll.cli.program import main

__all__ = ["main"]
