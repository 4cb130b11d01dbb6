"""The command `plimsoll explain` and its options."""

import argparse
import sys

from plimsoll.cli.commands.jobs.options import JOB
from plimsoll.cli.inputs.options import ORIGINS, add_namespace, add_origins, add_output

NAME = "explain"
ABOUT = "explain why a job waits, and what would let it run"
EXAMPLE = "train -n team"
_MORE = f"""\
{JOB}
{ORIGINS}
Every remedy is verified by planning again with its changes, and shown to need
all of them by planning with every part.

examples:
  plimsoll explain train -n team
  plimsoll explain tj/train --snapshot snapshot.json -o json

exit status:
  0 if there is an answer, whatever it is;
  2 if the job, files, options or cluster cannot be used.
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    parser.add_argument("job", metavar="JOB", help="the job to explain")
    add_namespace(parser)
    add_origins(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Print the explanation. Raises BadInput."""
    # The models and the solver take a second to import; --help should not wait for them.
    from plimsoll.cli.analysis.explain import explained  # noqa: PLC0415

    sys.stdout.write(explained(options))
