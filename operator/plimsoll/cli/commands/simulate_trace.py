"""The command `plimsoll simulate-trace` and its options."""

import argparse
import re
import sys
from pathlib import Path

from plimsoll.cli.inputs.options import add_filename, add_origins, add_output, seconds

NAME = "simulate-trace"
ABOUT = "live through recorded jobs on a copy of a cluster, in simulated time"
EXAMPLE = "--cluster cluster.json --jobs last-week.csv"
_MORE = """\
The operator itself plans the jobs, on a copy of the cluster in memory that is
empty at first and whose time passes as fast as it can be worked out. The report
has waits, completion times, what became of the GPUs' time, and restarts.

Jobs come from a CSV file with the columns submitted, gpus and hours, and, if
there is more to say, name, namespace, queue, priority, gpuTypes, minGPUs,
maxGPUs and others; training jobs of the cluster and of -f that have an end are
submitted at the beginning. Another CSV file, with the columns at, node and
event, says when nodes are lost and come back, and a third, with at, service and
rate, how much comes to the cluster's services. docs/reference/cli.md has all
columns. No GPU, image or running cluster is needed.

examples:
  plimsoll simulate-trace --cluster examples/cluster.yaml \\
    --jobs examples/traces/jobs.csv --node-events examples/traces/nodes.csv \\
    -f examples/jobs/serve-chat.yaml --requests examples/traces/requests.csv
  kubectl get nodes,plimsoll,priorityclasses -A -o json >cluster.json
  plimsoll simulate-trace --cluster cluster.json --jobs last-week.csv \\
    --preset Throughput --plot who-ran-where.svg

With --profiles, jobs are those of a workload and train at the speeds that
profiles recorded; docs/benchmarks/elastic-training.md describes these files:
  plimsoll simulate-trace --profiles profiles/ --workload workload-1.csv \\
    --pool aws=6x4 --pool rtx=3x8
"""
_POOL = re.compile(r"(?P<type>[^=]+)=(?P<nodes>[1-9]\d*)x(?P<gpus>[1-9]\d*)")


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    parser.add_argument("--jobs", metavar="FILE", type=Path, help="jobs and when they come, as CSV")
    parser.add_argument(
        "--node-events",
        metavar="FILE",
        type=Path,
        help="when nodes of the cluster are lost and come back, as CSV",
    )
    parser.add_argument(
        "--requests",
        metavar="FILE",
        type=Path,
        help="how much comes to services of the cluster, as CSV",
    )
    add_filename(parser, "what to apply to the cluster first: another policy, queues, jobs")
    parser.add_argument(
        "--preset", help="plan for another objective than the policy's, such as Throughput"
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=seconds,
        default=0.0,
        help="how long each plan is searched for, in seconds of deterministic work"
        " (default: 0, which takes the first plan)",
    )
    parser.add_argument(
        "--plot", metavar="FILE", type=Path, help="draw which job ran where, as SVG, into this file"
    )
    parser.add_argument(
        "--profiles", metavar="DIR", type=Path, help="recorded profiles of applications"
    )
    parser.add_argument("--workload", metavar="FILE", type=Path, help="which of these arrives when")
    parser.add_argument(
        "--pool",
        metavar="TYPE=NxG",
        type=_pool,
        action="append",
        help="with --profiles: N nodes with G GPUs of TYPE each",
    )
    add_origins(parser)
    add_output(parser)


def _pool(text: str) -> tuple[str, int, int]:
    found = _POOL.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form TYPE=NxG, such as rtx=3x8")
    return found["type"], int(found["nodes"]), int(found["gpus"])


def run(options: argparse.Namespace) -> int:
    """Print the results and return the exit status. Raises BadInput."""
    # The solver takes a second to import; --help should not wait for it.
    from plimsoll.cli.analysis.simulate_trace import traced  # noqa: PLC0415

    sys.stdout.write(traced(options))
    return 0
