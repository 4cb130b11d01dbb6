"""The command `plimsoll tree` and its options."""

import argparse

from plimsoll.cli.commands.jobs.options import JOB, STATUSES, add_shown
from plimsoll.cli.inputs.options import add_connection, add_scope

NAME = "tree"
ABOUT = "show queues, their jobs, the roles of these, and on which nodes their pods are"
EXAMPLE = "-n team"
_MORE = f"""\
{JOB}
Without JOB, all jobs of the namespace are shown. You need the right to view
jobs and pods there. Queues are shown below their parents if you may list
JobQueues.

examples:
  plimsoll tree
  plimsoll tree train -n team

{STATUSES}"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    parser.add_argument("job", metavar="JOB", nargs="?", help="the job to show (default: all)")
    add_scope(parser)
    add_connection(parser)
    add_shown(parser)


def run(options: argparse.Namespace) -> None:
    """Print it. Raises BadInput."""
    # The models take a second to import; --help should not wait for them.
    from plimsoll.cli.jobs.questions import show_tree  # noqa: PLC0415

    show_tree(options)
