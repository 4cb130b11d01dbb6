"""The command line: plans and explanations from files, snapshots or a running cluster."""

from plimsoll.cli.program import complete_plugin, main

__all__ = ["complete_plugin", "main"]
