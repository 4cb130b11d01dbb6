"""The command `plimsoll job` and its options."""

import argparse

from plimsoll.cli.commands.jobs.options import JOB, STATUSES, add_job, add_shown

NAME = "job"
ABOUT = "show a job: where it runs, how fast, at what cost, and what became of it"
EXAMPLE = "train -n team"
_MORE = f"""\
{JOB}
You need the right to view jobs, pods and events in its namespace. What it
costs is left out unless you may list GPUPools.

examples:
  plimsoll job train -n team
  plimsoll job tj/train --watch
  plimsoll job TrainingJob/team/train -o json

{STATUSES}"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    add_job(parser, "show")
    add_shown(parser)


def run(options: argparse.Namespace) -> None:
    """Print it. Raises BadInput."""
    # The models take a second to import; --help should not wait for them.
    from plimsoll.cli.jobs.questions import show_job  # noqa: PLC0415

    show_job(options)
