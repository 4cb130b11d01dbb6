"""`plimsoll plan`: how it is called."""

import argparse
import math
import sys

NAME = "plan"
ABOUT = "show the plan that the operator would make, from files"
_MORE = """\
PATH is a YAML or JSON file with any number of manifests, a folder of such
files, or - for standard input. A plan depends on Nodes, Pods, Namespaces,
PriorityClasses, PodDisruptionBudgets and Plimsoll's own kinds; other kinds are
passed over.
What -f gives is applied to what --cluster gives: it takes the place of what
has the same name there.

examples:
  plimsoll plan --cluster examples/cluster.yaml -f examples/
      plan the examples

  KINDS=ns,nodes,pods,priorityclasses,pdb,plimsoll,deployments,statefulsets
  kubectl get $KINDS -A -o json >cluster.json
  plimsoll plan --cluster cluster.json -f job.yaml
      what would become of a job, and of all others, in the real cluster

  kubectl get $KINDS -A -o json | plimsoll plan --cluster - -o json
      the plan for the real cluster as it is now, for a program to read

exit status:
  0 if there is a plan, even one by which jobs wait;
  2 if the files or the options are not in order.
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Tell the parser which options there are."""
    parser.epilog = _MORE
    parser.add_argument(
        "--cluster",
        metavar="PATH",
        action="append",
        default=[],
        help="what the cluster holds: nodes, pods, pools, queues, and jobs that are there already",
    )
    parser.add_argument(
        "-f",
        "--filename",
        metavar="PATH",
        action="append",
        default=[],
        help="what is applied to it: jobs, and whatever else is to be tried out",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json", "yaml"),
        default="table",
        help="what is printed (default: table)",
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=_seconds,
        help="how long to search for a plan that is better than the first one, in seconds that"
        " count work and not the clock, so that the plan is always the same; 0 takes the first"
        " one (default: what the PlacementPolicy says, else 2)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="say what was passed over")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 0 or more")
    return seconds


def run(options: argparse.Namespace) -> None:
    """Print the plan. Raises BadInput."""
    # The models and the solver take a second to load; --help need not wait for them.
    from plimsoll.cli.analysis.plan import planned  # noqa: PLC0415

    sys.stdout.write(planned(options))
