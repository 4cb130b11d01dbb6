"""How full a cluster gets when pods keep coming, and none leaves or waits.

    python bench/packing.py --nodes nodes.csv --pods pods.csv.gz --seed 42

The lists are described in `plimsoll_bench/packing/lists.py`. Without `--arrivals` the pods come
shuffled by the seed, and more are drawn until 130 % of all GPUs are asked for; without
`--node-order` the seed shuffles the nodes, the first of which is taken if a policy finds several
equally good. `seconds` is the CPU time of the policy and the replay, without reading files.

`plimsoll` packs by the operator's path: its solver plans each turn, in which `--turn` pods came
(`plimsoll_bench/packing/planned.py`), with so many seconds of `--effort`; `plan_seconds` is the CPU
time of the longest plan. Pods without GPUs, which the operator does not place, are left out. With
`--moves` what runs may move at its price for what comes and fits nowhere. Beside it stands what FGD
makes of the same pods, one by one, and upper bounds for any way of packing, moves included: with
any pods placed; if those stay in the cluster that came until 90 % of it was asked for; and if those
stay that were placed.

All other policies, and `plimsoll` with `--path library`, place pods one by one, those without GPUs
as well. No program of the product runs that path. With `--power` the draw of the nodes is printed,
too, and it packs for a low draw. With `--batch` pods wait until this many have come.
"""

import argparse
import math
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean

import numpy as np

from plimsoll_bench.output import print_json
from plimsoll_bench.packing.batches import replay_in_batches
from plimsoll_bench.packing.bound import most_used_percent
from plimsoll_bench.packing.fgd import FragmentationGradientDescent
from plimsoll_bench.packing.fragmentation import typical_counts
from plimsoll_bench.packing.lists import (
    drawn_arrivals,
    hosts_in,
    in_recorded_order,
    pods_in,
    recorded_arrivals,
)
from plimsoll_bench.packing.lookahead import Lookahead
from plimsoll_bench.packing.planned import PlannedReplay, planned_replay
from plimsoll_bench.packing.policies import POLICIES, Scene, frugal_policy
from plimsoll_bench.packing.power import watts_over_time
from plimsoll_bench.packing.replay import Replay, replay
from plimsoll_bench.packing.watts import meter_of
from plimsoll_placement.effort import Effort
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Host

DRAWN_AT = (20, 40, 60, 80)
SURELY_PLACED_PERCENT = 90
"""Any good packer places all pods until this much of the cluster is asked for."""


@dataclass(frozen=True, slots=True)
class Case:
    """Nodes in the order that breaks ties, the list that pods are drawn from, and the arrivals."""

    hosts: tuple[Host, ...]
    known: tuple[PodKind, ...]
    arrivals: tuple[PodKind, ...]


def case(arguments: argparse.Namespace) -> Case:
    """What the arguments say is to be packed."""
    random = Random(arguments.seed)
    hosts = hosts_in(arguments.nodes)
    by_name = pods_in(arguments.pods)
    known = tuple(pod for pod in by_name.values() if pod.gpus or not is_planned(arguments))
    if arguments.node_order:
        ordered = in_recorded_order(arguments.node_order, hosts)
    else:
        ordered = tuple(random.sample(hosts, len(hosts)))
    if arguments.arrivals:
        recorded, packable = recorded_arrivals(arguments.arrivals, by_name), set(known)
        return Case(ordered, known, tuple(pod for pod in recorded if pod in packable))
    gpus = sum(host.gpus for host in hosts)
    return Case(ordered, known, tuple(drawn_arrivals(known, gpus, random)))


def is_planned(arguments: argparse.Namespace) -> bool:
    """Whether the operator's path decides."""
    return arguments.policy == "plimsoll" and arguments.path == "operator"


def figures(arguments: argparse.Namespace) -> dict[str, object]:
    """What the benchmark prints."""
    packed = case(arguments)
    cluster = Cluster(packed.hosts)
    scene = Scene(cluster, packed.known, Random(arguments.seed))
    if is_planned(arguments):
        return planned_figures(arguments, scene, packed)
    started = time.process_time()
    run = packed_run(arguments, scene, packed.arrivals)
    seconds = time.process_time() - started
    found = common_figures(arguments, packed, run) | {"seconds": seconds, "path": "library"}
    if arguments.power:
        found |= power_figures(packed, run)
    return found | (bound_figures(packed, run) if arguments.batch else {})


def planned_figures(arguments: argparse.Namespace, scene: Scene, packed: Case) -> dict[str, object]:
    """What is printed of the operator's path, with FGD and the upper bounds beside it."""
    started = time.process_time()
    effort = Effort(deterministic_seconds=arguments.effort)
    run = planned_replay(
        scene.cluster, packed.arrivals, arguments.turn, effort, moves=arguments.moves
    )
    seconds = time.process_time() - started
    rival = Cluster(packed.hosts)
    fgd = FragmentationGradientDescent(rival, typical_counts(packed.known))
    return {
        **common_figures(arguments, packed, run.replay),
        "seconds": seconds,
        "plan_seconds": run.plan_seconds,
        "path": "operator",
        "begins_with": "the solver's problem",
        "fgd_allocated_percent_at_130": replay(rival, fgd, packed.arrivals).allocated_percent(130),
        **bound_figures(packed, run.replay),
        **(move_figures(packed, run) if arguments.moves else {}),
    }


def common_figures(
    arguments: argparse.Namespace, packed: Case, replayed: Replay
) -> dict[str, object]:
    """What is printed of every policy on every path."""
    return {
        "policy": arguments.policy,
        "seed": arguments.seed,
        "arrivals": len(packed.arrivals),
        "rejected": replayed.rejected,
        "allocated_percent_at_130": replayed.allocated_percent(130),
        "allocated_percent_at_100": replayed.allocated_percent(100),
        "used_gpu_milli": int(replayed.used_milli[-1:].sum()),
    }


def packed_run(
    arguments: argparse.Namespace, scene: Scene, arrivals: tuple[PodKind, ...]
) -> Replay:
    """The replay pod by pod, or in batches."""
    cluster = scene.cluster
    if arguments.batch:
        return replay_in_batches(cluster, Lookahead(cluster), arrivals, arguments.batch)
    frugal = arguments.power and arguments.policy == "plimsoll"
    policy = frugal_policy(scene) if frugal else POLICIES[arguments.policy](scene)
    return replay(cluster, policy, arrivals)


def bound_figures(packed: Case, replayed: Replay) -> dict[str, object]:
    """Upper bounds for any way of packing: with any pods placed, and if some of them stay."""
    arrived = zip(packed.arrivals, replayed.placements, strict=True)
    placed = [pod for pod, placement in arrived if placement is not None]
    early = SURELY_PLACED_PERCENT * replayed.capacity_milli // 100
    first = packed.arrivals[: int(np.searchsorted(replayed.arrived_milli, early))]
    return {
        "upper_bound_percent": most_used_percent(packed.hosts, packed.arrivals),
        f"upper_bound_percent_keeping_first_{SURELY_PLACED_PERCENT}": most_used_percent(
            packed.hosts, packed.arrivals, first
        ),
        "upper_bound_percent_keeping_placed": most_used_percent(
            packed.hosts, packed.arrivals, placed
        ),
    }


def move_figures(packed: Case, run: PlannedReplay) -> dict[str, object]:
    """How often pods moved, and when what they lost was made up for by what runs more."""
    moves = sum(turn.moves for turn in run.turns_with_moves)
    break_even = [turn.break_even_seconds for turn in run.turns_with_moves]
    return {
        "moves": moves,
        "moves_per_arrival": moves / len(packed.arrivals),
        "turns_with_moves": len(break_even),
        "moved_and_not_started": run.moved_and_not_started,
        "mean_break_even_seconds": fmean(break_even) if break_even else None,
        "longest_break_even_seconds": max(break_even, default=None),
    }


def power_figures(packed: Case, replayed: Replay) -> dict[str, object]:
    """What the cluster drew, and how much of the demand it served when it was nearly full."""
    cluster = Cluster(packed.hosts)
    watts = watts_over_time(cluster, meter_of(cluster), packed.arrivals, replayed.placements)
    kilowatts = {str(percent): replayed.mean_at(percent, watts) / 1000 for percent in DRAWN_AT}
    return {
        "kilowatts_at": kilowatts,
        "served_percent_at_99_5": replayed.served_percent(99.5),
    }


def main() -> None:
    """Read the command line and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nodes", type=Path, required=True)
    parser.add_argument("--pods", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--policy", choices=POLICIES, default="plimsoll")
    parser.add_argument("--path", choices=("operator", "library"), default="operator")
    parser.add_argument("--turn", type=int, default=100, help="arrivals of each plan")
    parser.add_argument("--effort", type=float, default=0.0, help="deterministic seconds a plan")
    parser.add_argument("--arrivals", type=Path)
    parser.add_argument("--node-order", type=Path)
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--moves", action="store_true", help="what runs may move, at its price")
    arguments = parser.parse_args()
    if arguments.batch and (arguments.policy != "plimsoll" or arguments.power):
        parser.error("--batch is a mode of its own, of plimsoll alone")
    if (arguments.batch or arguments.power) and is_planned(arguments):
        parser.error("--power and --batch need --path library")
    if arguments.moves and not is_planned(arguments):
        parser.error("--moves needs the path of the operator")
    if arguments.turn < 1:
        parser.error("--turn must be at least 1")
    if not 0 <= arguments.effort < math.inf:
        parser.error("--effort must be a number of seconds, 0 or more")
    print_json(figures(arguments))


if __name__ == "__main__":
    main()
