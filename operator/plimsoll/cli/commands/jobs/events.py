"""The command `plimsoll events` and its options."""

import argparse

from plimsoll.cli.commands.jobs.options import JOB, STATUSES, add_job, add_shown

NAME = "events"
ABOUT = "show what was said of a job, its pods and its workload, each thing once"
EXAMPLE = "train -n team"
_MORE = f"""\
{JOB}
Kubernetes keeps events for an hour. Of a job's past pods, those of adopted
workloads are left out. You need the right to view jobs, pods and events in
its namespace.

examples:
  plimsoll events train -n team
  plimsoll events train --watch

{STATUSES}"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    add_job(parser, "follow")
    add_shown(parser)


def run(options: argparse.Namespace) -> None:
    """Print them. Raises BadInput."""
    # The models take a second to import; --help should not wait for them.
    from plimsoll.cli.jobs.questions import show_events  # noqa: PLC0415

    show_events(options)
