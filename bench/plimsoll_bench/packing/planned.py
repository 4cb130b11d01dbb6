"""Replay arrivals in turns, with a plan of the operator's solver for each, as its loop makes them.

Each pod is a job of its own; those of one turn came in the same second. What runs stays where it
is, and a job that finds no place goes away. Pods without GPUs are no jobs to the operator, and must
be left out.

A plan names nodes. The devices are given out here as a kubelet would, to the largest pods of a turn
first, each the fullest that has room: a pod keeps what it is given, and one for which its node has
no device left is rejected.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plimsoll_bench.packing.replay import Replay
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import (
    WHOLE_GPU_MILLI,
    Assignments,
    Devices,
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
from plimsoll_placement.solve import solve_lean
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Host, Placement

MIB = 1 << 20
MOST_PODS = 1_000
"""More than ever come to one node."""
QUEUE = Queue(QueueName("all"))
AT_ONCE = Effort(deterministic_seconds=0)


@dataclass(frozen=True, slots=True)
class PlannedReplay:
    """The replay, and the CPU seconds of the longest plan."""

    replay: Replay
    plan_seconds: float


def planned_replay(
    cluster: Cluster, pods: Sequence[PodKind], turn: int, effort: Effort = AT_ONCE
) -> PlannedReplay:
    """Place the pods in `cluster`, which is changed, in turns of this many arrivals.

    A pod counts as demand when it comes, and as use once its turn is planned.
    """
    planner = _Planner(cluster, effort)
    placements: list[Placement | None] = []
    used: list[int] = []
    for first in range(0, len(pods), turn):
        came = pods[first : first + turn]
        used += [cluster.used_milli] * (len(came) - 1)
        placements += planner.turn(came)
        used.append(cluster.used_milli)
    arrived = np.cumsum([pod.total_gpu_milli for pod in pods])
    replayed = Replay(cluster.capacity_milli, tuple(placements), arrived, np.array(used))
    return PlannedReplay(replayed, planner.longest_seconds)


class _Planner:
    """What runs in a cluster, and the plans for it."""

    def __init__(self, cluster: Cluster, effort: Effort) -> None:
        self._cluster, self._effort = cluster, effort
        self._index = {host.name: number for number, host in enumerate(cluster.hosts)}
        self._nodes = tuple(map(_node, cluster.hosts))
        self._roles: dict[PodKind, Role] = {}
        self._running: tuple[Job, ...] = ()
        self._turns = 0
        self.longest_seconds = 0.0

    def turn(self, came: Sequence[PodKind]) -> list[Placement | None]:
        """Plan one turn and carry the plan out; the places of those that came."""
        self._turns += 1
        jobs = tuple(self._job(number, pod) for number, pod in enumerate(came))
        plan = self._plan(jobs)
        places: list[Placement | None] = [None] * len(came)
        for number in sorted(range(len(came)), key=lambda number: -came[number].total_gpu_milli):
            job = jobs[number]
            if job.name in plan:
                places[number] = self._start(came[number], job, plan[job.name])
        return places

    def _plan(self, came: tuple[Job, ...]) -> dict[JobName, Assignments]:
        begun = time.process_time()
        problem = Problem(self._nodes, (*self._running, *came), (QUEUE,))
        found = dict(solve_lean(problem, self._effort).placements)
        self.longest_seconds = max(self.longest_seconds, time.process_time() - begun)
        return found

    def _start(self, pod: PodKind, job: Job, planned: Assignments) -> Placement | None:
        """Give the pod devices of the node that it was sent to, if there still are any."""
        [assignment] = planned
        [name] = assignment.nodes
        node = self._index[name]
        devices = _devices(self._cluster, node, pod)
        if len(devices) < pod.gpus:
            return None
        self._cluster.take(pod, Placement(node, devices))
        self._running = (*self._running, replace(job, running=planned, pinned=True))
        return Placement(node, devices)

    def _job(self, number: int, pod: PodKind) -> Job:
        """A pod as a job of its own; those of one turn are of the same age."""
        if pod not in self._roles:
            shape = Shape(pod.total_gpu_milli, pod.cpu_millis, pod.memory_mib * MIB)
            types = pod.models or frozenset(self._cluster.models)
            yields = dict.fromkeys(sorted(types), (pod.total_gpu_milli,))
            everywhere = (1 << len(self._cluster)) - 1
            self._roles[pod] = Role(RoleName("pod"), shape, (1,), yields, everywhere)
        name = JobName(f"{self._turns:06}-{number:06}")
        return Job(name, QUEUE.name, 0, (self._roles[pod],), sequence=self._turns)


def _node(host: Host) -> Node:
    """A node of a list; any share of its devices can be had."""
    devices = Devices(host.model, (WHOLE_GPU_MILLI,) * host.gpus, 1)
    return Node(host.name, (devices,), host.cpu_millis, host.memory_mib * MIB, MOST_PODS)


def _devices(cluster: Cluster, node: int, pod: PodKind) -> tuple[int, ...]:
    """Whole devices of a node, or the fullest that has room for a share; none if there are none."""
    if not pod.shared:
        return cluster.whole_devices(node, pod.gpus)
    free = cluster.free[node]
    fullest = int(np.where(free >= pod.gpu_milli, free, WHOLE_GPU_MILLI + 1).argmin())
    return (fullest,) if free[fullest] >= pod.gpu_milli else ()
