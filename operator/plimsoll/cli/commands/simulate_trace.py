"""The command `plimsoll simulate-trace` and its options."""

import argparse
import re
import sys
from pathlib import Path

from plimsoll.cli.inputs.options import add_output

NAME = "simulate-trace"
ABOUT = "plan recorded training jobs in simulated time"
_MORE = """\
Jobs arrive as in the workload and train at the speeds of the profiles; plans
grow, shrink and restart them, and learn their speeds on the way. The report
has completion times, GPU-hours and restarts.

DIR has a folder for each application, with placements-TYPE.csv and
scalability-TYPE.csv for each GPU type, and validation-BATCH.csv; the workload
has the columns name, time, application and batch_size.
docs/benchmarks/elastic-training.md describes these files.

examples:
  plimsoll simulate-trace --profiles profiles/ --workload workload-1.csv
  plimsoll simulate-trace --profiles profiles/ --workload workload-1.csv \\
    --pool aws=6x4 --pool rtx=3x8 --plot who-ran-where.svg
"""
_POOLS = ("aws=6x4", "dgx-ext=2x8", "rtx=3x8")
_POOL = re.compile(r"(?P<type>[^=]+)=(?P<nodes>[1-9]\d*)x(?P<gpus>[1-9]\d*)")


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    parser.add_argument(
        "--profiles", metavar="DIR", type=Path, required=True, help="recorded applications"
    )
    parser.add_argument(
        "--workload", metavar="FILE", type=Path, required=True, help="the jobs and when they arrive"
    )
    parser.add_argument(
        "--pool",
        metavar="TYPE=NxG",
        type=_pool,
        action="append",
        help=f"N nodes with G GPUs of TYPE each (default: {' '.join(_POOLS)})",
    )
    parser.add_argument(
        "--undeclared-work",
        action="store_true",
        help="plan as if no job declared its amount of work",
    )
    parser.add_argument(
        "--plot", metavar="FILE", type=Path, help="draw which job ran where, as SVG, into this file"
    )
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

    options.pool = options.pool or [_pool(text) for text in _POOLS]
    sys.stdout.write(traced(options))
    return 0
