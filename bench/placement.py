"""How good plans are and how long they take, over clusters and jobs drawn from a seed.

    python bench/placement.py --seconds 2 --seeds 2

Every row is one problem: `fresh` where nothing runs yet, `settled` where most jobs run as greedy
once put them and some came or went since. The gap is that of the first level of the score that is
not proven best, once for greedy's plan and once for the plan that is used. `seconds` are CPU
seconds of the whole, greedy and checks included.
"""

import argparse
import time
from dataclasses import dataclass, replace
from random import Random

from plimsoll_placement.check import require_sound
from plimsoll_placement.cpsat.relaxation import relaxation
from plimsoll_placement.effort import Effort
from plimsoll_placement.greedy import greedy_placements
from plimsoll_placement.problem import (
    Devices,
    DomainName,
    GpuType,
    Job,
    JobName,
    Node,
    NodeName,
    PowerDomain,
    Problem,
    Queue,
    QueueName,
    Role,
    RoleName,
    Shape,
)
from plimsoll_placement.score import score
from plimsoll_placement.solution import Outcome, Solution
from plimsoll_placement.solve import solve

GIB = 1 << 30
QUEUES = ("vision", "language")
STILL_THERE, NOT_NEW = 0.85, 0.8


@dataclass(frozen=True, slots=True)
class Model:
    """A GPU model: how many a node has, price, power, and its speed against the fastest."""

    name: GpuType
    gpus: int
    microdollars: int
    milliwatts: int
    percent: int


MODELS = (
    Model(GpuType("NVIDIA-H100-80GB-HBM3"), 8, 8_000_000, 600_000, 100),
    Model(GpuType("NVIDIA-A100-SXM4-80GB"), 8, 4_000_000, 350_000, 50),
    Model(GpuType("NVIDIA-L4"), 4, 800_000, 70_000, 20),
    Model(GpuType("Tesla-T4"), 4, 400_000, 60_000, 10),
)
H100, A100, L4, T4 = MODELS


@dataclass(frozen=True, slots=True)
class Size:
    """How large a problem is: `kinds` of nodes differ in model, spot or price."""

    nodes: int
    kinds: int
    jobs: int


SIZES = (
    Size(20, 4, 64),
    Size(20, 4, 500),
    Size(40, 8, 500),
    Size(40, 40, 500),
    Size(100, 8, 300),
    Size(500, 8, 1000),
)


def problem(rng: Random, size: Size) -> Problem:
    """More jobs than fit, three priorities, two queues, racks, two rows with power budgets."""
    nodes = tuple(_node(rng, index, size.kinds) for index in range(size.nodes))
    supply = {
        model.name: sum(1000 * model.gpus for n in nodes if n.devices[0].gpu_type == model.name)
        for model in MODELS
    }
    half = {name: milli // 2 for name, milli in supply.items()}
    full = sum(len(node.devices[0].free_milli) * node.busy_milliwatts for node in nodes)
    return Problem(
        nodes=nodes,
        jobs=tuple(_job(rng, index, size.nodes) for index in range(size.jobs)),
        queues=(
            Queue(QueueName("vision"), guaranteed={H100.name: half[H100.name]}, fair=half),
            Queue(QueueName("language"), fair=half),
        ),
        power_domains=tuple(
            PowerDomain(DomainName(f"row-{row}"), full * 48 // 100) for row in range(2)
        ),
        levels=("rack",),
    )


def settled(rng: Random, fresh: Problem) -> Problem:
    """Greedy's plan of most of the jobs runs, and some of those that ran or waited are gone."""
    placed = greedy_placements(fresh)
    left = [job for job in fresh.jobs if rng.random() < STILL_THERE]
    jobs = (
        replace(job, running=placed.get(job.name, ())) if rng.random() < NOT_NEW else job
        for job in left
    )
    return replace(fresh, jobs=tuple(jobs))


def _node(rng: Random, index: int, kinds: int) -> Node:
    kind = index % kinds
    model = MODELS[kind % len(MODELS)]
    spot = kind // len(MODELS) % 2 == 1
    return Node(
        name=NodeName(f"node-{index:04}"),
        devices=(Devices(model.name, (1000,) * model.gpus),),
        cpu_millis=model.gpus * 12_000 - rng.randint(0, 900),
        memory_bytes=model.gpus * 128 * GIB,
        pod_slots=110,
        topology=(f"rack-{index // 8}",),
        power_domains=(DomainName(f"row-{index // 8 % 2}"),),
        spot=spot,
        busy_milliwatts=model.milliwatts,
        microdollars_per_gpu_hour=model.microdollars // (3 if spot else 1) + kind // 8 * 1000,
        interruptions_per_kilohour=20 if spot else 0,
    )


def _job(rng: Random, index: int, nodes: int) -> Job:
    everywhere = (1 << nodes) - 1
    kind = rng.choice((_small, _small, _gang, _service))
    job = kind(rng, f"{kind.__name__[1:]}-{index:05}", everywhere)
    queue, priority = QueueName(rng.choice(QUEUES)), rng.choice((0, 0, 100, 1000))
    return replace(job, queue=queue, priority=priority, sequence=index)


def _small(rng: Random, name: str, everywhere: int) -> Job:
    models = rng.choice(((H100, A100), (A100, L4), MODELS, (L4, T4)))
    yields = {model.name: (10 * model.percent,) for model in models}
    shape = Shape(1000, rng.choice((4000, 8000)), 16 * GIB)
    role = Role(RoleName("worker"), shape, (1,), yields, everywhere)
    spot = rng.choice((0, 100))
    return Job(JobName(name), QueueName(""), 0, (role,), restart_seconds=300, spot_percent=spot)


def _gang(rng: Random, name: str, everywhere: int) -> Job:
    gpus, counts = rng.choice((1, 2, 4, 8)), rng.choice(((1, 2, 4), (2, 4, 8), (1, 2, 3, 4)))
    yields = {
        model.name: tuple(int(10 * gpus * n * model.percent / (1 + 0.05 * (n - 1))) for n in counts)
        for model in (H100, A100)
    }
    shape = Shape(1000 * gpus, 8000 * gpus, 64 * GIB * gpus)
    role = Role(RoleName("worker"), shape, counts, yields, everywhere)
    level = rng.choice((None, 0))
    return Job(JobName(name), QueueName(""), 0, (role,), restart_seconds=900, preferred_level=level)


def _service(rng: Random, name: str, everywhere: int) -> Job:
    most = rng.choice((2, 4, 6))
    role = Role(
        name=RoleName("server"),
        shape=Shape(1000, 6000, 32 * GIB),
        counts=tuple(range(1, most + 1)),
        yields={model.name: (10 * model.percent,) for model in (H100, A100, L4)},
        eligible=everywhere,
        mixable=True,
        wanted_milli=1000 * rng.randint(1, most),
    )
    return Job(
        JobName(name),
        QueueName(""),
        0,
        (role,),
        gang=False,
        restart_seconds=60,
        spot_percent=50,
    )


def row(kind: str, seed: int, posed: Problem, seconds: float) -> str:
    """One problem solved, as a row of a table in Markdown."""
    start = time.process_time()
    solution = solve(posed, Effort(deterministic_seconds=seconds))
    spent = time.process_time() - start
    require_sound(posed, solution.placements)
    placements = greedy_placements(posed)
    greedy = Solution(placements, score(posed, placements), solution.bound, Outcome.GREEDY)
    cells, jobs = len(relaxation(posed).cells.whole.cells), len(posed.jobs)
    gaps = f"{_gap(greedy)} | {_gap(solution)}"
    return f"| {kind} | {seed} | {len(posed.nodes)} | {cells} | {jobs} | {gaps} | {spent:.1f} |"


def _gap(solution: Solution) -> str:
    """The gap in percent, and of which level it is."""
    pairs = zip(solution.score.levels, solution.bound.levels, strict=True)
    level = next((place for place, (got, best) in enumerate(pairs, 1) if best > got), 0)
    return f"{solution.gap_percent:.2f} of level {level}" if level else "0"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="what each plan may take")
    parser.add_argument("--seeds", type=int, default=2, help="problems of each size")
    options = parser.parse_args()
    print("| | seed | nodes | cells | jobs | greedy: gap in % | plan: gap in % | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for size in SIZES:
        for seed in range(1, options.seeds + 1):
            rng = Random(seed)
            fresh = problem(rng, size)
            print(row("fresh", seed, fresh, options.seconds), flush=True)
            print(row("settled", seed, settled(rng, fresh), options.seconds), flush=True)


if __name__ == "__main__":
    main()
