"""The command `plimsoll logs` and its options."""

import argparse
from datetime import timedelta

from plimsoll.api.values.durations import DurationError, parse_duration
from plimsoll.cli.commands.jobs.options import JOB, STATUSES, add_job

NAME = "logs"
ABOUT = "print the logs of all pods of a job at once"
EXAMPLE = "train -n team -f"
_MOST_AT_ONCE = 64
_MORE = f"""\
{JOB}
Each line begins with its pod. With -f, pods that come later are followed too,
as when the job restarts, moves or grows, until the job ends. You need the right
to view jobs and pods in its namespace, and to get pods/log.

examples:
  plimsoll logs train -n team --tail 20
  plimsoll logs train -f --role worker
  plimsoll logs train --previous

{STATUSES}"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    add_job(parser, "read")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("-f", "--follow", action="store_true", help="go on until the job ends")
    either.add_argument(
        "-p", "--previous", action="store_true", help="of the run before a container's restart"
    )
    parser.add_argument("--tail", type=_lines, metavar="LINES", help="only the last of each pod")
    parser.add_argument("--since", type=_duration, metavar="TIME", help="only newer, such as 10m")
    parser.add_argument("--role", default="", metavar="NAME", help="only pods of this role")
    parser.add_argument(
        "-c", "--container", default="", metavar="NAME", help="container (default: the first)"
    )
    parser.add_argument("--timestamps", action="store_true", help="begin lines with their time")
    parser.add_argument(
        "--max-connections",
        type=_connections,
        default=_MOST_AT_ONCE,
        metavar="NUMBER",
        help=f"pods that are read at once (default: {_MOST_AT_ONCE})",
    )


def run(options: argparse.Namespace) -> None:
    """Print them. Raises BadInput."""
    # The models take a second to import; --help should not wait for them.
    from plimsoll.cli.jobs.printing_logs import print_logs  # noqa: PLC0415

    print_logs(options)


def _lines(text: str) -> int:
    return _at_least(0, text)


def _connections(text: str) -> int:
    return _at_least(1, text)


def _at_least(least: int, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number: use {least} or more")
    return int(text)


def _duration(text: str) -> timedelta:
    try:
        found = parse_duration(text)
    except DurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if found < timedelta(seconds=1):
        raise argparse.ArgumentTypeError(f"{text!r} is too short: use 1s or more")
    return found
