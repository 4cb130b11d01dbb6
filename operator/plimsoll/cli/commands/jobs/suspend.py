"""The command `plimsoll suspend` and its options."""

import argparse

from plimsoll.cli.commands.jobs.options import JOB, STATUSES, add_job
from plimsoll.cli.inputs.options import add_output

NAME = "suspend"
ABOUT = "let a job save and give up its place, until it is resumed"
EXAMPLE = "train -n team"
_MORE = f"""\
{JOB}
A training job saves and stops; a service is scaled to zero, and no load brings
it back before it is resumed. A workload of another kind is suspended by the
job that stands for it: you need not touch the workload itself.

You need the right to patch trainingjobs, or inferencejobs, in its namespace.

examples:
  plimsoll suspend train -n team
  plimsoll suspend train --wait

{STATUSES}"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    add_job(parser, "suspend")
    parser.add_argument("--wait", action="store_true", help="wait until all its pods are gone")
    add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Change the job, and say what follows. Raises BadInput."""
    # The models take a second to import; --help should not wait for them.
    from plimsoll.cli.jobs.changing import suspend  # noqa: PLC0415

    suspend(options)
