"""The command `plimsoll simulate` and its options."""

import argparse
import sys

from plimsoll.cli.inputs.options import ORIGINS, add_origins, add_output

NAME = "simulate"
ABOUT = "show what applying a job would do to it and to all others"
EXAMPLE = "-f job.yaml"
_MORE = f"""\
PATH is a file of manifests, a folder of such files, or - for standard input.
Two plans are compared: one for the cluster as it is, one with PATH applied.

{ORIGINS}
examples:
  plimsoll simulate -f job.yaml
      where and when it would run in your cluster, at what cost, and which jobs
      it would move

  plimsoll simulate -f job.yaml --snapshot snapshot.json -o json

exit status:
  0 if there is an answer, even if the job would wait;
  2 if the files, options or cluster cannot be used.
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    parser.add_argument(
        "-f",
        "--filename",
        metavar="PATH",
        action="append",
        required=True,
        help="what to apply: jobs, or anything else to try out",
    )
    add_origins(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Print the effects. Raises BadInput."""
    # The models and the solver take a second to import; --help should not wait for them.
    from plimsoll.cli.analysis.simulate import simulated  # noqa: PLC0415

    sys.stdout.write(simulated(options))
