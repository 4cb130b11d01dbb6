"""Options that the commands about one job share."""

import argparse

from plimsoll.cli.inputs.options import add_connection, add_output, add_scope, add_watch

JOB = """\
JOB is a name, preceded by its kind if needed: tj/train, ij/chat, or in full
TrainingJob/team/train. The job that stands for a workload of another kind is
also found by that one's name: job/resnet.
"""
STATUSES = """\
exit status:
  0 if it was done; 1 if there is no such job; 2 if the options cannot be used;
  3 if the cluster cannot be reached, or refuses.
"""


def add_job(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the job itself, and which cluster and namespace it is in."""
    parser.add_argument("job", metavar="JOB", help=f"the job to {what}")
    add_scope(parser)
    add_connection(parser)


def add_shown(parser: argparse.ArgumentParser) -> None:
    """Add how it is shown, once or again after each change."""
    add_watch(parser)
    add_output(parser)
