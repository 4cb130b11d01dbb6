"""The command `plimsoll status` and its options."""

import argparse

from plimsoll.cli.inputs.options import add_connection, add_output, add_scope, add_watch

NAME = "status"
ABOUT = "show the cluster in a screen: GPUs, queues, what waits and what is wrong"
EXAMPLE = "--watch"
_MORE = """\
Shows what plans do and how good the last one was; GPUs by type: used, idle, and
unusable, as nothing holds them but their nodes take no pods; queues; which jobs
wait longest and why; nodes that are cordoned, drained, quarantined or on their
way; power domains; and every condition that is not as it should be.

Rights: to list Plimsoll's kinds, nodes, pods and priorityclasses. What you may
not list is left out, which is said; of jobs, those of your namespace are shown
then. With -n, only the jobs of that namespace are shown.

examples:
  plimsoll status
  plimsoll status --watch
  plimsoll status -o json | jq '.gpus[] | select(.idle > 0)'
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    add_connection(parser)
    add_scope(parser)
    add_output(parser)
    add_watch(parser)


def run(options: argparse.Namespace) -> None:
    """Print the status. Raises BadInput."""
    # Tables and the client take a moment to import; --help should not wait for them.
    from plimsoll.cli.questions.status import ask  # noqa: PLC0415

    ask(options)
