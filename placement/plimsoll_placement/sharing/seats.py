"""Replicas with parts of GPUs and the nodes that they could change places among.

Nodes are comparable if a replica is worth the same on each: they offer shares alike of one GPU
type, at one price, all spot or none, in the same power domains. A node is one place, whichever of
its GPUs its device plugin then gives out: the memory of all of them counts together.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from plimsoll_placement.model import (
    UNKNOWN_BYTES,
    WHOLE_GPU_MILLI,
    Assignment,
    Devices,
    Job,
    Node,
    Placements,
    Role,
    Shape,
)
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import price_class

ASSUMED_BYTES: Final = 80 << 30
"""The memory of a GPU of which nothing is known."""
ASSUMED_PART: Final = 2
"""Of its share of the memory, a replica of unknown weights is assumed to hold one in so many."""
ASSUMED_LOAD: Final = 10**9
"""The load of replicas if it is known of none that they could share GPUs with."""


@dataclass(frozen=True, slots=True)
class Seated:
    """A pod with a part of a GPU on a node. `is_settled`: it runs there, or may not be moved."""

    job: Job
    role: Role
    assignment: Assignment
    is_settled: bool

    @property
    def may_move(self) -> bool:
        """Whether another place would do: it is a single pod that stands for itself."""
        is_bound = self.job.pinned or self.job.gang or self.role.pods_per_replica > 1
        return not (is_bound or self.role.shape.others)


@dataclass(slots=True)
class Seats:
    """A node whose GPUs are shared, and who is there; `others` are pods without parts of GPUs."""

    row: int
    node: Node
    devices: Devices
    pods: list[Seated] = field(default_factory=list[Seated])
    others: list[Shape] = field(default_factory=list[Shape])

    @property
    def takes_more(self) -> bool:
        """Whether new pods may come, room aside."""
        is_vacant = not self.pods and not self.others
        return self.node.open and self.node.usable and not (is_vacant and self.node.returnable)

    @property
    def memory_bytes(self) -> int:
        """The memory of its GPUs, as far as others leave it; assumed where unknown."""
        if self.node.gpu_memory_bytes < UNKNOWN_BYTES // 2:
            return max(0, self.node.gpu_memory_bytes)
        return ASSUMED_BYTES * sum(self.devices.free_milli) // WHOLE_GPU_MILLI

    def weights_bytes(self, role: Role) -> int:
        """What a pod of a role holds of the memory; assumed where unknown."""
        if role.shape.gpu_memory_bytes:
            return role.shape.gpu_memory_bytes
        total = max(1, sum(self.devices.free_milli))
        granted = self.devices.granted_milli(role.shape.gpu_milli) or 0
        return self.memory_bytes * granted // total // ASSUMED_PART

    def room(self, largest: Shape, without: Sequence[Seated] = ()) -> int:
        """How many more pods no larger than this there is room for, GPU memory aside."""
        left_out = {id(each) for each in without}
        shapes = [each.role.shape for each in self.pods if id(each) not in left_out]
        units = sum(free // self.devices.share_milli for free in self.devices.free_milli)
        rooms = [units - len(shapes), self.node.pod_slots - len(shapes) - len(self.others)]
        there = [*shapes, *self.others]
        if largest.cpu_millis:
            free = self.node.cpu_millis - sum(shape.cpu_millis for shape in there)
            rooms.append(free // largest.cpu_millis)
        if largest.memory_bytes:
            free = self.node.memory_bytes - sum(shape.memory_bytes for shape in there)
            rooms.append(free // largest.memory_bytes)
        return max(0, min(rooms))


@dataclass(frozen=True)
class Comparable:
    """Nodes among which a replica may change places."""

    seats: tuple[Seats, ...]

    @cached_property
    def assumed_load(self) -> int:
        """The load of a pod of which it is unknown: the mean of those of which it is known."""
        pods = (pod for each in self.seats for pod in each.pods)
        known = [pod.role.load_nano for pod in pods if pod.role.load_nano is not None]
        return sum(known) // len(known) if known else ASSUMED_LOAD

    def load(self, role: Role) -> int:
        """The load of a pod of a role."""
        return self.assumed_load if role.load_nano is None else role.load_nano


def shares_gpus(problem: Problem) -> bool:
    """Whether any service asks for parts of GPUs."""
    return any(
        0 < role.shape.gpu_milli < WHOLE_GPU_MILLI
        for job in problem.jobs
        if not job.gang
        for role in job.roles
    )


def comparable_nodes(problem: Problem, placements: Placements) -> Iterator[Comparable]:
    """Nodes whose GPUs are shared, in groups, with all pods that these placements put there."""
    by_row = _seats(problem)
    for job in problem.jobs:
        running = set(job.running)
        for assignment in placements.get(job.name, ()):
            settled = job.pinned or job.gang or assignment in running
            _seat(problem, by_row, job, assignment, is_settled=settled)
    groups: dict[Hashable, list[Seats]] = defaultdict(list)
    for seats in by_row.values():
        groups[_likeness(seats)].append(seats)
    return (Comparable(tuple(seats)) for seats in groups.values())


def _seats(problem: Problem) -> dict[int, Seats]:
    found: dict[int, Seats] = {}
    for row, node in enumerate(problem.nodes):
        in_parts = [each for each in node.devices if 1 < each.share_milli < WHOLE_GPU_MILLI]
        if len(in_parts) == 1 and len(node.devices) == 1:
            found[row] = Seats(row, node, in_parts[0])
    return found


def _seat(
    problem: Problem,
    by_row: dict[int, Seats],
    job: Job,
    assignment: Assignment,
    *,
    is_settled: bool,
) -> None:
    role = next((each for each in job.roles if each.name == assignment.role), None)
    if role is None:
        return
    for name in assignment.nodes:
        seats = by_row.get(problem.node_index.get(name, -1))
        if seats is None:
            continue
        if 0 < role.shape.gpu_milli < WHOLE_GPU_MILLI:
            seats.pods.append(Seated(job, role, assignment, is_settled))
        else:
            seats.others.append(role.shape)


def _likeness(seats: Seats) -> Hashable:
    node, devices = seats.node, seats.devices
    return devices.gpu_type, devices.share_milli, price_class(node), node.spot, node.power_domains
