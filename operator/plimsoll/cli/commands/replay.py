"""The command `plimsoll replay` and its options."""

import argparse
import sys

from plimsoll.cli.inputs.options import add_output

NAME = "replay"
ABOUT = "make the plan of a snapshot again and explain it"
EXAMPLE = "snapshot.json"
_MORE = """\
FILE is a snapshot written by the operator (see its setting
PLIMSOLL_SNAPSHOT_DIR). The plan is made from the same objects, for the same
time and with the same limits, so it is the same, unless the file was edited.

examples:
  plimsoll replay snapshot.json
  plimsoll replay snapshot.json --explain 0 -o json

exit status:
  0 if the plan is the recorded one;
  1 if it is not; the differences are listed;
  2 if the file or options cannot be used.
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    parser.add_argument("file", metavar="FILE", help="the snapshot")
    parser.add_argument(
        "--explain",
        metavar="COUNT",
        type=_count,
        default=3,
        help="how many waiting jobs to explain, the most important first (default: 3)",
    )
    add_output(parser)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of jobs: use 0 or more")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Print the plan and return the exit status. Raises BadInput."""
    # The models and the solver take a second to import; --help should not wait for them.
    from plimsoll.cli.analysis.replay import replayed  # noqa: PLC0415

    text, status = replayed(options)
    sys.stdout.write(text)
    return status
