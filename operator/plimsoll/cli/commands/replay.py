"""`plimsoll replay`: how it is called."""

import argparse
import sys

from plimsoll.cli.inputs.asking import add_output

NAME = "replay"
ABOUT = "make the plan of a snapshot again, and explain it"
_MORE = """\
FILE is a snapshot that the operator has written (see its PLIMSOLL_SNAPSHOT_DIR
setting). The plan is made of the same objects, at the same time, with the same
limits, so it is the same. In a file that somebody has edited it may not be.

examples:
  plimsoll replay snapshot.json
  plimsoll replay snapshot.json --explain 0 -o json

exit status:
  0 if the plan is the one that was recorded;
  1 if it is not: what differs is told;
  2 if the file or the options are not in order.
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Tell the parser which options there are."""
    parser.epilog = _MORE
    parser.add_argument("file", metavar="FILE", help="the snapshot")
    parser.add_argument(
        "--explain",
        metavar="COUNT",
        type=_count,
        default=3,
        help="of how many waiting jobs, the most important first, it is told what would let them"
        " run (default: 3)",
    )
    add_output(parser)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of jobs, 0 or more")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Print the plan; the exit status. Raises BadInput."""
    # The models and the solver take a second to load; --help need not wait for them.
    from plimsoll.cli.analysis.replay import replayed  # noqa: PLC0415

    text, status = replayed(options)
    sys.stdout.write(text)
    return status
