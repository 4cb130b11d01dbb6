"""The command `plimsoll queue` and its options."""

import argparse

from plimsoll.cli.inputs.options import add_connection, add_output, add_scope, add_watch

NAME = "queue"
ABOUT = "show what each queue uses of its share and what waits, or the jobs of one"
EXAMPLE = "research"
_MORE = """\
Without QUEUE: what each queue and its children use, what they own, may use and
have borrowed, and how many jobs wait, the longest since when. Queues that only
jobs name, such as "default" without a JobQueue, are shown too.

With QUEUE: its waiting jobs in the order in which plans try them, by priority,
urgency and age. A smaller job may start before a larger one that finds no room.

Rights: to list jobqueues, trainingjobs, inferencejobs and priorityclasses. What
you may not list is left out, which is said; of jobs, those of your namespace
are shown then. With -n, only they are counted where queues are not known.

examples:
  plimsoll queue
  plimsoll queue research --watch
  plimsoll queue -o csv >queues.csv
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    parser.add_argument("queue", metavar="QUEUE", nargs="?", help="the queue whose jobs to show")
    add_connection(parser)
    add_scope(parser)
    add_output(parser, ("table", "wide", "json", "yaml", "csv"))
    add_watch(parser)


def run(options: argparse.Namespace) -> None:
    """Print the queues or the order in one. Raises BadInput."""
    # The models take a second to import; --help should not wait for them.
    from plimsoll.cli.questions.queues import ask  # noqa: PLC0415

    ask(options)
