"""`plimsoll simulate`: how it is called."""

import argparse
import sys

from plimsoll.cli.inputs.asking import ORIGINS, add_origins, add_output

NAME = "simulate"
ABOUT = "show what would become of a job, and of all others, if it were applied"
_MORE = f"""\
PATH is a file of manifests, a folder of such files, or - for standard input.
Two plans are compared: that of the cluster as it is, and that with PATH
applied.

{ORIGINS}
examples:
  plimsoll simulate -f job.yaml
      where it would go in your cluster, whom it would move, when, at what cost

  plimsoll simulate -f job.yaml --snapshot snapshot.json -o json

exit status:
  0 if there is an answer, even one by which the job would wait;
  2 if the files, the options or the cluster are not in order.
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Tell the parser which options there are."""
    parser.epilog = _MORE
    parser.add_argument(
        "-f",
        "--filename",
        metavar="PATH",
        action="append",
        required=True,
        help="what would be applied: jobs, and whatever else is to be tried out",
    )
    add_origins(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Print what would be. Raises BadInput."""
    # The models and the solver take a second to load; --help need not wait for them.
    from plimsoll.cli.analysis.simulate import simulated  # noqa: PLC0415

    sys.stdout.write(simulated(options))
