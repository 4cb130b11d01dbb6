"""`plimsoll explain`: how it is called."""

import argparse
import sys

from plimsoll.cli.inputs.asking import ORIGINS, add_namespace, add_origins, add_output

NAME = "explain"
ABOUT = "say why a job waits, and what would let it run"
_MORE = f"""\
JOB is a name, with the kind before it where that is needed: tj/train,
ij/chat, or in full TrainingJob/team/train.

{ORIGINS}
What is told is proven: the cluster is planned again with each set of changes,
and with every part of it.

examples:
  plimsoll explain train -n team
  plimsoll explain tj/train --snapshot snapshot.json -o json

exit status:
  0 if there is an answer, whatever it is;
  2 if the job, the files, the options or the cluster are not in order.
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Tell the parser which options there are."""
    parser.epilog = _MORE
    parser.add_argument("job", metavar="JOB", help="the job that is meant")
    add_namespace(parser)
    add_origins(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Print why. Raises BadInput."""
    # The models and the solver take a second to load; --help need not wait for them.
    from plimsoll.cli.analysis.explain import explained  # noqa: PLC0415

    sys.stdout.write(explained(options))
