"""The program `plimsoll`: its commands and exit status."""

import argparse
import os
import sys
from collections.abc import Sequence

from plimsoll.cli.commands import (
    explain,
    import_kueue,
    plan,
    replay,
    simulate,
    simulate_trace,
    version,
)
from plimsoll.errors import BadInput

OK = 0
BAD_INPUT = 2
"""Same as argparse's status for invalid arguments."""

_ABOUT = "Plan elastic GPU training and inference together."
_COMMANDS = (plan, explain, simulate, simulate_trace, replay, import_kueue, version)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int | None = options.run(options)
        sys.stdout.flush()
    except BadInput as error:
        sys.stderr.write("".join(f"plimsoll: {problem}\n" for problem in error.problems))
        return BAD_INPUT
    except BrokenPipeError:
        # The reader has closed the pipe; flushing the rest of the buffer must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return status or OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="plimsoll", description=_ABOUT)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        of_command = commands.add_parser(
            command.NAME,
            help=command.ABOUT,
            description=f"{command.ABOUT[0].upper()}{command.ABOUT[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_up(of_command)
        of_command.set_defaults(run=command.run)
    return parser
