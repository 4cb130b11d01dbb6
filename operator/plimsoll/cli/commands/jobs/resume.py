"""The command `plimsoll resume` and its options."""

import argparse

from plimsoll.cli.commands.jobs.options import JOB, STATUSES, add_job
from plimsoll.cli.inputs.options import add_output

NAME = "resume"
ABOUT = "let a suspended job wait for a place again"
EXAMPLE = "train -n team"
_MORE = f"""\
{JOB}
The job is planned again like any other. A workload of another kind is resumed
by Plimsoll once the job that stands for it has a place.

You need the right to patch trainingjobs, or inferencejobs, in its namespace.

examples:
  plimsoll resume train -n team
  plimsoll resume train --wait

{STATUSES}"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    add_job(parser, "resume")
    parser.add_argument("--wait", action="store_true", help="wait until it runs")
    add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Change the job, and say what follows. Raises BadInput."""
    # The models take a second to import; --help should not wait for them.
    from plimsoll.cli.jobs.changing import resume  # noqa: PLC0415

    resume(options)
