"""How full a cluster gets with one plan for each batch of pods, when no pod leaves or waits.

    python bench/planned_packing.py --nodes nodes.csv --pods pods.csv.gz --seed 42 --batch 100

Each pod is a job of its own; what runs stays where it is. The lists and the arrivals are those of
`packing.py`, without the pods that ask for no GPU. FGD packs the same pods one by one for
comparison. `seconds` is CPU time, `plan_seconds` that of the longest plan.
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from plimsoll_bench.output import print_json
from plimsoll_bench.packing.fgd import FragmentationGradientDescent
from plimsoll_bench.packing.fragmentation import typical_counts
from plimsoll_bench.packing.lists import drawn_arrivals, hosts_in, pods_in
from plimsoll_bench.packing.replay import replay
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import (
    WHOLE_GPU_MILLI,
    Devices,
    GpuType,
    Job,
    JobName,
    Node,
    Queue,
    QueueName,
    Role,
    RoleName,
    Shape,
)
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Host

MIB = 1 << 20
QUEUE = Queue(QueueName("all"))


def node(host: Host) -> Node:
    """A node of a list; any fraction of its devices can be had."""
    devices = Devices(host.model, (WHOLE_GPU_MILLI,) * host.gpus, 1)
    return Node(host.name, (devices,), host.cpu_millis, host.memory_mib * MIB, len(host.name) + 999)


def job(number: int, pod: PodKind, types: frozenset[GpuType], nodes: int) -> Job:
    """A pod of a list as a job."""
    shape = Shape(pod.total_gpu_milli, pod.cpu_millis, pod.memory_mib * MIB)
    yields = dict.fromkeys(pod.models or types, (pod.total_gpu_milli,))
    role = Role(RoleName("pod"), shape, (1,), yields, (1 << nodes) - 1)
    return Job(JobName(f"{number:06}"), QUEUE.name, 0, (role,), sequence=number)


def planned(hosts: Sequence[Host], pods: Sequence[PodKind], batch: int) -> tuple[int, float]:
    """The milli-GPUs in use after all batches, and the CPU seconds of the longest plan."""
    nodes = tuple(map(node, hosts))
    types = frozenset(host.model for host in hosts)
    problem, longest = Problem(nodes, (), (QUEUE,)), 0.0
    numbered = (job(number, pod, types, len(nodes)) for number, pod in enumerate(pods))
    while arriving := tuple(itertools.islice(numbered, batch)):
        started = time.process_time()
        problem = replace(problem, jobs=(*problem.jobs, *arriving))
        placements = solve(problem, Effort(deterministic_seconds=0)).placements
        longest = max(longest, time.process_time() - started)
        placed = (each for each in problem.jobs if each.name in placements)
        jobs = tuple(replace(each, running=placements[each.name]) for each in placed)
        problem = replace(problem, jobs=jobs)
    return sum(each.roles[0].shape.gpu_milli for each in problem.jobs), longest


def main() -> None:
    """Read the command line and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nodes", type=Path, required=True)
    parser.add_argument("--pods", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--batch", type=int, default=100)
    arguments = parser.parse_args()
    random = Random(arguments.seed)
    hosts = random.sample(hosts_in(arguments.nodes), len(hosts_in(arguments.nodes)))
    known = [pod for pod in pods_in(arguments.pods).values() if pod.gpus]
    pods = drawn_arrivals(known, sum(host.gpus for host in hosts), random)
    started = time.process_time()
    used, longest = planned(hosts, pods, arguments.batch)
    seconds = time.process_time() - started
    cluster = Cluster(hosts)
    replay(cluster, FragmentationGradientDescent(cluster, typical_counts(known)), pods)
    figures = {
        "seed": arguments.seed,
        "arrivals": len(pods),
        "allocated_percent_at_130": 100 * used / cluster.capacity_milli,
        "fgd_allocated_percent_at_130": 100 * cluster.used_milli / cluster.capacity_milli,
        "seconds": seconds,
        "plan_seconds": longest,
    }
    print_json(figures)


if __name__ == "__main__":
    main()
