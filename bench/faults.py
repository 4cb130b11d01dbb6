"""Whether the operator keeps its promises when all around it fails, tested by random histories.

    python bench/faults.py --histories 1000 --seed 1 --json

Each history is a few nodes and jobs in a namespace of their own on a real control plane with KWOK
nodes. Jobs come, change and go, pods and nodes fail; requests of the operator are delayed, refused
(401, 409, 429, 500) or carried out without an answer, watches break, hang or are too old, and the
operator is killed. `--lanes` histories live side by side under one operator, whose deaths and
broken connections they share. Beside each is a hostile tenant, with jobs of wrong types and extreme
numbers, targets and queues that are not its own, and edits of what runs. Afterwards the cluster
must settle into a state that an independent checker accepts, which shares no code with the
operator, and at no moment may a GPU be allocated twice.

A violation names its namespace, h<seed>-<lane>: `--histories LANES --seed <seed>` plays the same
script again. One JSON object goes to standard output, progress to standard error.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.histories.drawn import script
from plimsoll_devcluster.histories.neighbours import beside_hostile_tenants
from plimsoll_devcluster.histories.round import SETTLE_SECONDS, Stage, stage
from plimsoll_devcluster.histories.tally import Outcome, Tally
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.ending import end_on_signals
from plimsoll_devcluster.programs.control_plane_programs import find_programs

SLOW_SECONDS = 15.0
ROOT = Path(__file__).parents[1]


def main() -> None:
    """Run it and print the figures; the exit status says whether anything was violated."""
    parser = argparse.ArgumentParser(description="What survives faults?")
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--lanes", type=int, default=16, help="how many live side by side")
    parser.add_argument("--seed", type=int, default=1, help="of the first lanes; then one more")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no more after this")
    parser.add_argument(
        "--bound", type=float, default=SETTLE_SECONDS, help="seconds within which all is at rest"
    )
    parser.add_argument("--logs", type=Path, help="keep the operator's log in this folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = arguments.logs or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        programs = find_programs(os.environ)
        with ControlPlane(programs, service_account_admission=False) as plane:
            install_crds(plane.api, ROOT / "crds")
            with stage(plane.api, plane.kubeconfig, kept, settle_seconds=arguments.bound) as found:
                live_through(found, arguments)
    figures = figures_of(found.tally, arguments.bound)
    if arguments.json:
        print_json(figures)
    else:
        for key, value in figures.items():
            print(f"{key:20} {value}")
        require_finite(figures)
    sys.exit(1 if found.tally.violations else 0)


def live_through(found: Stage, arguments: argparse.Namespace) -> None:
    """Play rounds until there were enough histories, or until interrupted."""
    with suppress(SystemExit), end_on_signals():
        play_rounds(found, arguments)


def play_rounds(found: Stage, arguments: argparse.Namespace) -> None:
    """Play rounds until there were enough histories."""
    begun, left, seed = time.monotonic(), arguments.histories, arguments.seed
    while left > 0 and time.monotonic() < begun + 60 * arguments.minutes:
        outcomes = found.play(beside_hostile_tenants(script(seed, min(left, arguments.lanes))))
        say(f"seed {seed}: at rest after {worst(outcomes):.1f} s")
        for outcome in outcomes:
            if SLOW_SECONDS < outcome.settle_seconds < math.inf:
                last = "; ".join(outcome.last_wrong)
                say(f"  {outcome.namespace} took {outcome.settle_seconds:.1f} s: {last}")
            for violation in outcome.violations:
                say(f"  {outcome.namespace}: {violation}")
        say(f"so far: {json.dumps(figures_of(found.tally, arguments.bound))}")
        left, seed = left - len(outcomes), seed + 1


def worst(outcomes: list[Outcome]) -> float:
    """The longest time until the cluster settled."""
    return max(outcome.settle_seconds for outcome in outcomes)


def figures_of(tally: Tally, bound_seconds: float) -> dict[str, object]:
    """What is reported."""
    settled = [each.settle_seconds for each in tally.outcomes]
    return {
        "histories": len(settled),
        "happenings": tally.happenings,
        "refused_by_the_api_server": tally.refused,
        "kills": tally.kills,
        "faults": {fault.value: count for fault, count in sorted(tally.fired.items())},
        "forgotten_by_kwok": tally.forgotten,
        "operator_ended_by_itself": tally.ended_by_itself,
        "failed_turns": tally.failed_turns,
        "violations": len(tally.violations),
        "violated": tally.violations,
        "deaf_max_s": round(max(tally.deaf_seconds, default=0.0), 1),
        "bound_s": bound_seconds,
        "settle_p50_s": round(statistics.median(settled or [0.0]), 2),
        "settle_max_s": round(max(settled, default=0.0), 2),
    }


def say(text: str, write: Callable[[str], object] = sys.stderr.write) -> None:
    """Report progress."""
    write(f"{time.strftime('%H:%M:%S')} {text}\n")


if __name__ == "__main__":
    main()
