"""Which jobs may change and on which nodes, and what the others leave of nodes, queues and power.

Jobs outside the scope stay as they are placed now, in sound placements. Only what pinned jobs hold
may exceed what there is; then nothing can be added to it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from plimsoll_placement.model import (
    Assignment,
    Assignments,
    DomainName,
    GpuType,
    Job,
    JobName,
    NodeName,
    Placements,
    QueueName,
    Role,
    amount_in,
)
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import least_use

MICRO_PER_MILLI = 1000


@dataclass(frozen=True)
class Scope:
    """The jobs that may change, and the rows of nodes on which they may be placed anew.

    None of the jobs is pinned. `placements` are what all jobs hold now.
    """

    problem: Problem
    placements: Placements
    jobs: tuple[Job, ...]
    rows: frozenset[int]

    @cached_property
    def names(self) -> frozenset[JobName]:
        """The jobs' names."""
        return frozenset(job.name for job in self.jobs)

    @cached_property
    def outside(self) -> dict[JobName, Assignments]:
        """What the jobs outside the scope hold."""
        return {name: held for name, held in self.placements.items() if name not in self.names}

    def rows_of(self, job: Job) -> frozenset[int]:
        """Where a job may be placed anew: where any may, and where it is now."""
        index, now = self.problem.node_index, self.placements.get(job.name, ())
        return self.rows | {index[name] for a in now for name in a.nodes if name in index}


@dataclass(slots=True)
class Rest:
    """What a node has left beside the jobs outside the scope, and their GPUs by type."""

    cpu_millis: int
    memory_bytes: int
    slots: int
    gpu_memory_bytes: int
    requested_millis: dict[GpuType, list[int]]
    others: dict[str, int]


class Remains:
    """What the jobs outside a scope leave to those in it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.rests: dict[int, Rest] = {}
        self.held_milli: dict[tuple[QueueName, GpuType], int] = defaultdict(int)
        self.drawn_microwatts: dict[DomainName, int] = defaultdict(int)
        jobs = scope.problem.job_by_name
        for name, held in scope.outside.items():
            for assignment in held:
                self._count(jobs[name], assignment)

    def rest(self, row: int) -> Rest:
        """What is left of a node; negative where what is pinned is more than it has."""
        if row not in self.rests:
            node = self.scope.problem.nodes[row]
            amounts = (node.cpu_millis, node.memory_bytes, node.pod_slots, node.gpu_memory_bytes)
            self.rests[row] = Rest(*amounts, {}, dict(node.others))
        return self.rests[row]

    def power_left(self) -> dict[DomainName, int]:
        """The microwatts that each power domain has left."""
        return {
            domain.name: max(
                0,
                (domain.budget_milliwatts - domain.base_milliwatts) * MICRO_PER_MILLI
                - self.drawn_microwatts[domain.name],
            )
            for domain in self.scope.problem.power_domains
        }

    @cached_property
    def usage(self) -> Mapping[tuple[QueueName, GpuType], int]:
        """What queues hold by jobs outside the scope, with gangs at their least size."""
        return least_use(self.scope.problem, self.scope.outside)

    def usage_from(self, floor: int) -> Mapping[tuple[QueueName, GpuType], int]:
        """The same for jobs of at least a priority."""
        return least_use(self.scope.problem, self.scope.outside, floor)

    def _count(self, job: Job, assignment: Assignment) -> None:
        role = next((role for role in job.roles if role.name == assignment.role), None)
        if role is None:
            return
        self._count_pods(role, assignment)
        milli = role.shape.gpu_milli * len(assignment.nodes)
        for queue in self.scope.problem.queue_chain.get(job.queue, ()):
            self.held_milli[queue, assignment.gpu_type] += milli

    def _count_pods(self, role: Role, assignment: Assignment) -> None:
        shape = role.shape
        for row in _rows(self.scope.problem, assignment.nodes):
            rest, node = self.rest(row), self.scope.problem.nodes[row]
            rest.cpu_millis -= shape.cpu_millis
            rest.memory_bytes -= shape.memory_bytes
            rest.slots -= 1
            rest.gpu_memory_bytes -= shape.gpu_memory_bytes
            for name, amount in shape.others:
                rest.others[name] = amount_in(rest.others, name) - amount
            if shape.gpu_milli:
                rest.requested_millis.setdefault(assignment.gpu_type, []).append(shape.gpu_milli)
            for domain in node.power_domains:
                self.drawn_microwatts[domain] += shape.draw_milli * node.busy_milliwatts


def _rows(problem: Problem, names: Iterable[NodeName]) -> list[int]:
    return [problem.node_index[name] for name in names if name in problem.node_index]
