"""How good plans of large clusters are, and how long they take.

    python bench/plan.py --nodes 10000 --gpus-per-node 8 --jobs 5000 --seed 1
    python bench/plan.py --nodes 10000 --jobs 5000 --seeds 0-19 --after 60
    python bench/plan.py --scenario saturated --nodes 500
    python bench/plan.py --scenario growth --sizes 100,300,1000,3000,10000 --plot growth.svg

`mixed` (see `plimsoll_bench/placement/seeded_cluster.py`): one plan of the empty cluster within
`--seconds`, then a stream of changes to what it runs, each planned at once by a solver that knows
the plan before: in turn ten jobs arrive and ten leave, a node is lost, a price changes. `--after`:
what runs by the cold plan is also searched for so many deterministic seconds more, as the operator
does in the background. `--seeds`: all of this for several clusters, in one process. `saturated`:
every GPU is held by a one-GPU job, and as many wait with a higher priority; then a gang that is
larger than the cluster. `growth`: `mixed` for several sizes, with jobs in proportion.

A gap is how far a level of the score is from its bound, the most that any plan can have there that
is no worse in the levels before it. `cold_gap_percent` is that of the first level that is not
proven optimal; the gaps of all levels, in percent and in GPUs, are listed beside it. Every plan is
checked, outside of the time. OR-Tools is loaded first. Times are wall clock and, where so named,
of the processor, which other programs disturb less. Prints one JSON object.
"""

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from random import Random
from typing import TypeVar

from plimsoll_bench.output import print_json
from plimsoll_bench.placement.seeded_cluster import QUEUES, Size, mixed_cluster, new_job
from plimsoll_placement.check import require_sound
from plimsoll_placement.effort import Effort
from plimsoll_placement.explain import Feasibility
from plimsoll_placement.model import (
    Assignment,
    Assignments,
    Devices,
    GpuType,
    Job,
    JobName,
    Node,
    NodeName,
    Queue,
    Role,
    RoleName,
    Shape,
)
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import Solver, load, solve

T = TypeVar("T")

ARRIVALS = 10
PRICE_PERCENT = 125
HIGHER = 100
ROLE = RoleName("worker")


@dataclass(frozen=True, slots=True)
class Budget:
    """Deterministic seconds for a complete plan, for one after a change, and in a quiet time."""

    cold: float
    change: float
    after: float = 0.0


def main() -> None:
    """Run one scenario and print its figures."""
    parser = argparse.ArgumentParser(description="How good and how fast plans of clusters are.")
    parser.add_argument("--scenario", choices=("mixed", "saturated", "growth"), default="mixed")
    parser.add_argument("--nodes", type=int, help="10000, saturated: 500")
    parser.add_argument("--gpus-per-node", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=5000, help="of the mixed cluster")
    parser.add_argument(
        "--load", type=float, default=1.2, help="GPUs asked for, by those there are"
    )
    parser.add_argument("--power-domains", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", help="several, such as 0-19 or 1,5, instead of one")
    parser.add_argument("--changes", type=int, default=30)
    parser.add_argument(
        "--seconds", type=float, default=5.5, help="deterministic, for the cold plan"
    )
    parser.add_argument("--change-seconds", type=float, default=0.0, help="the same for a change")
    parser.add_argument("--after", type=float, default=0.0, help="the same for a quiet time")
    parser.add_argument("--sizes", default="100,300,1000,3000,10000", help="nodes, for growth")
    parser.add_argument("--plot", type=Path, help="where to draw growth")
    options = parser.parse_args()
    print_json(_figures(options), indent=2)


def _figures(options: argparse.Namespace) -> dict[str, object]:
    budget = Budget(options.seconds, options.change_seconds, options.after)
    load()
    if options.scenario == "saturated":
        return saturated(options.nodes or 500, options.gpus_per_node, Effort(budget.cold))
    nodes = options.nodes or 10_000
    size = Size(nodes, options.gpus_per_node, options.jobs, options.power_domains, options.load)
    if options.seeds:
        drawn = [mixed(seed, size, budget, options.changes) for seed in seeds(options.seeds)]
        return {"worst": worst(drawn), "seeds": drawn}
    if options.scenario == "mixed":
        return mixed(options.seed, size, budget, options.changes)
    sizes = [
        replace(size, nodes=count, jobs=max(1, options.jobs * count // nodes))
        for count in map(int, options.sizes.split(","))
    ]
    rows = [mixed(options.seed, each, budget, options.changes) for each in sizes]
    if options.plot:
        plot(rows, options.plot)
    return {"growth": rows}


def seeds(text: str) -> Iterator[int]:
    """The numbers of a list of numbers and ranges."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def worst(rows: list[dict[str, object]]) -> dict[str, object]:
    """The largest of each figure that is better if it is smaller."""
    keys = [key for key in rows[0] if key.endswith(("_seconds", "_s", "_percent", "_mib"))]
    return {key: max(float(str(row[key])) for row in rows if row[key] is not None) for key in keys}


def mixed(seed: int, size: Size, budget: Budget, changes: int) -> dict[str, object]:
    """A cold plan, what a quiet time makes of it, and a stream of changes."""
    problem = mixed_cluster(seed, size)
    cold, solution = timed(partial(solve, problem, Effort(budget.cold)))
    require_sound(problem, solution.placements)
    say(f"seed {seed}: cold {cold.wall:.1f} s ({cold.cpu:.1f}), gap {solution.gap_percent:.3f} %")
    figures = {
        "seed": seed,
        "nodes": size.nodes,
        "jobs": size.jobs,
        "cold_seconds": round(cold.wall, 2),
        "cold_cpu_seconds": round(cold.cpu, 2),
        "cold_gap_percent": round(solution.gap_percent, 4),
        "cold_levels": levels(problem, solution),
        "placed": len(solution.placements),
    }
    if budget.after:
        figures |= after_a_while(problem, solution, budget.after)
    figures |= after_changes(seed, size, running(problem, solution.placements), budget, changes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**figures, "rss_mib": round(peak / 1024)}


def after_a_while(problem: Problem, solution: Solution, seconds: float) -> dict[str, object]:
    """What becomes of a plan that is carried out and then searched for longer."""
    runs = running(problem, solution.placements)
    took, found = timed(partial(solve, runs, Effort(seconds)))
    require_sound(runs, found.placements)
    return {
        "after_cpu_seconds": round(took.cpu, 2),
        "after_gap_percent": round(found.gap_percent, 4),
        "after_levels": levels(runs, found),
    }


def after_changes(
    seed: int, size: Size, problem: Problem, budget: Budget, changes: int
) -> dict[str, object]:
    """How long plans after changes take; the first plan of what runs is not counted."""
    solver, rng, times = Solver(), Random(seed), list[Took]()
    placements = solver.solve(problem, Effort(0)).placements
    for changed in islice(stream(rng, size, problem), changes):
        problem = changed(running(problem, placements))
        took, after = timed(partial(solver.solve, problem, Effort(budget.change)))
        require_sound(problem, after.placements)
        times.append(took)
        placements = after.placements
    if not times:
        return {"changes": 0}
    return {
        "changes": len(times),
        "change_p50_s": round(statistics.median(each.wall for each in times), 3),
        "change_p99_s": round(late([each.wall for each in times]), 3),
        "change_p50_cpu_s": round(statistics.median(each.cpu for each in times), 3),
        "change_p99_cpu_s": round(late([each.cpu for each in times]), 3),
    }


def late(times: list[float]) -> float:
    """The 99th percentile."""
    return sorted(times)[int(0.99 * (len(times) - 1) + 0.5)]


Change = Callable[[Problem], Problem]


def stream(rng: Random, size: Size, problem: Problem) -> Iterator[Change]:
    """Changes without end: jobs come and go, a node is lost, a price changes."""
    number = 0
    while True:
        yield partial(come_and_go, rng, size, number)
        yield partial(lose, rng.choice(problem.nodes).name)
        yield partial(reprice, rng.choice(problem.nodes).devices[0].gpu_type)
        number += 1


def come_and_go(rng: Random, size: Size, number: int, problem: Problem) -> Problem:
    """Ten jobs leave, ten others come."""
    gone = {job.name for job in rng.sample(problem.jobs, min(ARRIVALS, len(problem.jobs)))}
    fresh = (
        new_job(rng, f"new-{number:04}-{place}", size, size.jobs + number)
        for place in range(ARRIVALS)
    )
    return replace(problem, jobs=(*(job for job in problem.jobs if job.name not in gone), *fresh))


def lose(name: NodeName, problem: Problem) -> Problem:
    """Mark a node as failed."""
    nodes = (
        replace(node, open=False, usable=False) if node.name == name else node
        for node in problem.nodes
    )
    return replace(problem, nodes=tuple(nodes))


def reprice(gpu_type: GpuType, problem: Problem) -> Problem:
    """Raise the price of a GPU type."""
    nodes = (
        replace(
            node,
            microdollars_per_gpu_hour=node.microdollars_per_gpu_hour * PRICE_PERCENT // 100,
        )
        if node.devices[0].gpu_type == gpu_type
        else node
        for node in problem.nodes
    )
    return replace(problem, nodes=tuple(nodes))


def running(problem: Problem, placements: Mapping[JobName, Assignments]) -> Problem:
    """The same, with what was placed running; jobs for which that is not new stay as they are.

    So the operator's observer has it: what a solver knows of an object lasts as long as that does.
    """
    placed = ((job, placements.get(job.name, ())) for job in problem.jobs)
    jobs = (job if job.running == now else replace(job, running=now) for job, now in placed)
    return replace(problem, jobs=tuple(jobs))


def levels(problem: Problem, solution: Solution) -> dict[str, object]:
    """For each level that is not proven optimal, its gap in percent and in GPUs."""
    names = ["guaranteed"]
    for priority in problem.priorities:
        names += [f"kept at {priority}", f"admitted at {priority}"]
    horizon = problem.weights.horizon_seconds
    found: dict[str, object] = {}
    for name, got, best in zip(
        [*names, "worth"], solution.score.levels, solution.bound.levels, strict=True
    ):
        if best > got:
            unit = 1000 * horizon if name == "worth" else 1000
            found[name] = {
                "gap_percent": round(100 * (best - got) / max(1, abs(best)), 3),
                "gap_gpus": round((best - got) / unit, 1),
            }
    return found


def saturated(nodes: int, gpus: int, effort: Effort) -> dict[str, object]:
    """Every GPU is held, and as many jobs of a higher priority wait."""
    problem = _saturated(nodes, gpus)
    plan, solution = timed(partial(solve, problem, effort))
    require_sound(problem, solution.placements)
    placed = sum(job.name in solution.placements for job in problem.jobs if job.priority == HIGHER)
    too_large = _job("too-large", HIGHER + 1, (nodes + 1, gpus), len(problem.jobs), nodes)
    asked = replace(problem, jobs=(*problem.jobs, too_large))
    infeasible, lack = timed(lambda: Feasibility(asked).lacks_alone(too_large))
    return {
        "nodes": nodes,
        "running": nodes * gpus,
        "waiting": nodes * gpus,
        "waiting_placed": placed,
        "plan_seconds": round(plan.wall, 3),
        "plan_cpu_seconds": round(plan.cpu, 3),
        "plan_gap_percent": round(solution.gap_percent, 4),
        "outcome": solution.outcome,
        "infeasible_seconds": round(infeasible.wall, 4),
        "infeasible_reason": None if lack is None else lack.reason,
        "rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _saturated(count: int, gpus: int) -> Problem:
    gpu_type = GpuType("NVIDIA-H100-80GB-HBM3")
    nodes = tuple(
        Node(
            NodeName(f"node-{index:05}"),
            (Devices(gpu_type, (1000,) * gpus),),
            cpu_millis=gpus * 12_000,
            memory_bytes=gpus << 37,
            pod_slots=110,
        )
        for index in range(count)
    )
    held = [
        replace(
            _job(f"runs-{index:05}", 0, (1, 1), index, count),
            running=(Assignment(ROLE, 0, gpu_type, (nodes[index // gpus].name,)),),
        )
        for index in range(count * gpus)
    ]
    waiting = [
        _job(f"waits-{index:05}", HIGHER, (1, 1), count * gpus + index, count)
        for index in range(count * gpus)
    ]
    return Problem(nodes, (*held, *waiting), (Queue(QUEUES[0]),))


def _job(name: str, priority: int, pods: tuple[int, int], place: int, nodes: int) -> Job:
    """A gang of this many pods with this many GPUs each."""
    workers, gpus = pods
    milli = 1000 * gpus
    role = Role(
        ROLE,
        Shape(milli, 1000 * gpus, gpus << 30),
        (workers,),
        {GpuType("NVIDIA-H100-80GB-HBM3"): (milli * workers,)},
        (1 << nodes) - 1,
    )
    return Job(JobName(name), QUEUES[0], priority, (role,), sequence=place, restart_seconds=300)


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds that something took, by the clock and of the processor."""

    wall: float
    cpu: float


def timed(work: Callable[[], T]) -> tuple[Took, T]:
    """How long it took, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return Took(time.perf_counter() - wall, time.process_time() - cpu), result


def plot(rows: list[dict[str, object]], path: Path) -> None:
    """Draw seconds over nodes, both on logarithmic scales."""
    # Needed only for drawing: `pip install --group bench`.
    figure = import_module("matplotlib.figure").Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    nodes = [row["nodes"] for row in rows]
    for key, label in (("cold_seconds", "cold plan"), ("change_p50_s", "change, median")):
        axes.loglog(nodes, [row[key] for row in rows], marker="o", label=label)
    axes.set_xlabel("nodes")
    axes.set_ylabel("seconds")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path)


def say(text: str) -> None:
    """Report progress."""
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    main()
