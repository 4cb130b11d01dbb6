"""The program `plimsoll`: its commands and exit status."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from plimsoll.cli.commands import (
    completion,
    explain,
    importing,
    plan,
    queue,
    replay,
    simulate,
    simulate_trace,
    status,
    top,
    ui,
    usage,
    version,
)
from plimsoll.cli.commands.jobs import events, job, logs, resume, suspend, tree
from plimsoll.cli.invocation import as_called, did_you_mean, own_name
from plimsoll.errors import BadInput, NothingFound, UnusableCluster

OK = 0
NOTHING_FOUND = 1
BAD_INPUT = 2
"""Same as argparse's status for invalid arguments."""
UNUSABLE_CLUSTER = 3
INTERRUPTED = 130
"""As a shell says of a program that SIGINT has ended."""

_ABOUT = "Plan elastic GPU training and inference together."
_OF_JOBS = (job, tree, events, logs, suspend, resume)
_COMMANDS = (
    status,
    top,
    queue,
    *_OF_JOBS,
    plan,
    explain,
    simulate,
    simulate_trace,
    replay,
    importing,
    usage,
    completion,
    ui,
    version,
)
_COMPLETE = "__complete"
"""By this word shells ask what may complete the words that follow it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    if words[:1] == [_COMPLETE]:
        return _complete(words[1:])
    options = _parser().parse_args(words)
    try:
        status: int | None = options.run(options)
        sys.stdout.flush()
    except BadInput as error:
        sys.stderr.write("".join(f"{own_name()}: {problem}\n" for problem in error.problems))
        return _status(error)
    except BrokenPipeError:
        # The reader has closed the pipe; flushing the rest of the buffer must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    return status or OK


def complete_plugin() -> int:
    """The program kubectl_complete-plimsoll, which kubectl asks to complete its plugin."""
    return _complete(sys.argv[1:])


def _complete(words: Sequence[str]) -> int:
    # The client takes a moment to import; other commands should not wait for it.
    from plimsoll.cli.completion.answers import answer  # noqa: PLC0415

    sys.stdout.write(answer(_parser(), words))
    return OK


def _status(error: BadInput) -> int:
    match error:
        case NothingFound():
            return NOTHING_FOUND
        case UnusableCluster():
            return UNUSABLE_CLUSTER
        case _:
            return BAD_INPUT


class _Parser(argparse.ArgumentParser):
    """A parser whose help begins with an example, and which knows what was mistyped."""

    example = ""

    def format_help(self) -> str:
        """The help, with the program's name as it was called."""
        before = f"example: {self.prog} {self.example}\n\n" if self.example else ""
        return before + as_called(super().format_help())

    def error(self, message: str) -> NoReturn:
        """Exit, with what was meant instead of a mistyped command."""
        _, is_choice, rest = message.partition("invalid choice: '")
        mistyped = rest.partition("'")[0]
        known = rest.partition("(choose from ")[2].replace("'", "").rstrip(")").split(", ")
        super().error(message + did_you_mean(mistyped, known) if is_choice else message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=own_name(), description=_ABOUT)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        of_command = commands.add_parser(
            command.NAME,
            help=command.ABOUT,
            description=f"{command.ABOUT[0].upper()}{command.ABOUT[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        of_command.example = command.EXAMPLE
        command.set_up(of_command)
        of_command.add_argument(
            "--no-color", action="store_true", help="no colours, as if NO_COLOR were set"
        )
        of_command.set_defaults(run=command.run)
    return parser
