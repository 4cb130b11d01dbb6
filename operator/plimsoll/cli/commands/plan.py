"""The command `plimsoll plan` and its options."""

import argparse
import sys

from plimsoll.cli.inputs.options import add_connection, add_filename, add_output, seconds

NAME = "plan"
ABOUT = "show the plan that the operator would make, of a cluster or of files"
EXAMPLE = "--live -f job.yaml"
_MORE = """\
Without --cluster and -f, the plan is that of your running cluster as it is now;
with --live, --kubeconfig or --context, -f is applied to it; -f alone describes
all that there is. The cluster is only listed; nothing is written or changed.

PATH is a YAML or JSON file with any number of manifests, a folder of such
files, or - for standard input. A plan depends on Nodes, Pods, Namespaces,
PriorityClasses, PodDisruptionBudgets, Plimsoll's own kinds, the workloads they
target and Jobs with the label plimsoll.dev/queue; other kinds are skipped.
Objects from -f are applied to those from --cluster, and replace objects of the
same name.

examples:
  plimsoll plan
      what the operator would decide in your cluster now

  plimsoll plan --live -f job.yaml
      what would happen to a job, and to all others, in your cluster

  plimsoll plan --cluster examples/cluster.yaml -f examples/
      plan the examples

  KINDS=ns,nodes,pods,pv,pc,pdb,plimsoll,jobs,deployments,statefulsets
  kubectl get $KINDS -A -o json >cluster.json
  plimsoll plan --cluster cluster.json -f job.yaml
      the same where only kubectl reaches the cluster

  kubectl get $KINDS -A -o json | plimsoll plan --cluster - -o json
      the plan for the real cluster as it is now, as JSON

exit status:
  0 if there is a plan, even if jobs wait;
  2 if the files, options or cluster cannot be used.
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    parser.add_argument(
        "--cluster",
        metavar="PATH",
        action="append",
        default=[],
        help="what the cluster holds: nodes, pods, pools, queues and existing jobs",
    )
    add_filename(parser, "what to apply to it: jobs, or anything else to try out")
    parser.add_argument(
        "--live", action="store_true", help="apply -f to the running cluster, as kubectl would"
    )
    add_connection(parser)
    add_output(parser)
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=seconds,
        help="how long to search for a better plan than the first one; these are seconds of"
        " deterministic work, not of the clock, so the plan is reproducible; 0 takes the first"
        " plan (default: from the PlacementPolicy, or 2)",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="count the objects that were skipped"
    )


def run(options: argparse.Namespace) -> None:
    """Print the plan. Raises BadInput."""
    # The models and the solver take a second to import; --help should not wait for them.
    from plimsoll.cli.analysis.plan import planned  # noqa: PLC0415

    sys.stdout.write(planned(options))
