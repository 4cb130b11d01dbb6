"""The nodes on which a waiting gang will first find room if no other job comes: its reservation.

Running jobs leave one after the other: first by their known ends, then those without a known end,
starting with the ones whose nodes are freest. So a reservation only grows, and a later look does
not choose other nodes without a reason. Services do not end.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from plimsoll_placement.model import GpuType, Job, JobName, NodeName
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.preemption.victims import is_owed
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.price import could_pay, weighed_loss
from plimsoll_placement.state.ledger import Ledger

LONGEST_OVERDUE_SECONDS = 600
"""Once a job is overdue by this long, nobody knows when it will end."""


@dataclass(frozen=True, slots=True)
class Room:
    """Nodes that a gang will have to itself in this many seconds; None if the time is unknown."""

    nodes: tuple[NodeName, ...]
    seconds: int | None


def room_to_come(
    problem: Problem, gang: Job, ends: Mapping[JobName, int], later: Problem | None = None
) -> Room | None:
    """The nodes on which a waiting gang first finds room, at its least size.

    `ends`: in how many seconds jobs end, as far as that is known. `later`: the problem once all
    terminating pods have gone, if there are any. None if the gang has room now, possibly by
    preempting others: that is the plan's business. Also None if there is too little room, or no
    power, even beside the services alone.
    """
    future, seconds = _Future(problem, gang), None
    future.give_way()
    if future.assignments():
        return None
    if later is not None:
        future = _Future(later, gang)
        future.give_way()
        if nodes := future.assignments():
            return Room(nodes, 0)
    pause = waited = 1
    for seconds, leaving in future.departures(ends):
        future.leave(leaving)
        if waited >= pause and future.types_with_room():
            if nodes := future.assignments():
                return Room(nodes, seconds)
            # It may be power that is missing: retrying after each departure would take too long.
            pause, waited = 2 * pause, 0
        waited += 1
    nodes = future.assignments()
    return Room(nodes, seconds) if nodes else None


class _Future:
    """What is free for a gang while one job after the other leaves."""

    def __init__(self, problem: Problem, gang: Job) -> None:
        self._role = gang.roles[0]
        self._gang = gang
        self._pods = self._role.least * self._role.pods_per_replica
        self._ledger = Ledger(problem)
        self._staying: dict[JobName, Job] = {}
        for job in sorted(filter(_runs, problem.jobs), key=_largest_pods_first):
            forced = replace(job, pinned=True)
            if self._ledger.take(forced, job.running):
                self._staying[job.name] = forced
            else:
                self._ledger.hold(forced)
        level = gang.required_level
        self._domains = None if level is None else self._ledger.domains(level)
        self._room = Counter[tuple[GpuType, int]]()
        self._pinned = {job.name for job in problem.jobs if job.pinned}
        for row in range(len(problem.nodes)):
            self._count(row, 1)

    def give_way(self) -> None:
        """Remove the jobs that the gang could preempt, each for itself."""
        less = [job for job in self._staying.values() if job.priority < self._gang.priority]
        for job in sorted(less, key=lambda job: (job.priority, job.name)):
            if job.name not in self._pinned and not self._is_owed(job) and self._could_pay(job):
                self.leave([job])

    def _could_pay(self, job: Job) -> bool:
        """Whether the gang may gain more than a job would lose."""
        if self._gang.overdue:
            return True
        problem, most = self._ledger.problem, max(milli[0] for milli in self._role.yields.values())
        return could_pay(problem, self._gang, most, weighed_loss(problem, job, job.running, ()))

    def _is_owed(self, job: Job) -> bool:
        """Whether a guarantee of a queue of its own, not shared with the gang, protects a job."""
        chains = self._ledger.problem.queue_chain
        queues = set(chains.get(job.queue, ())) - set(chains.get(self._gang.queue, ()))
        kinds = {assignment.gpu_type for assignment in job.running}
        return any(is_owed(self._ledger, queue, kind) for queue in queues for kind in kinds)

    def departures(self, ends: Mapping[JobName, int]) -> Iterator[tuple[int | None, Sequence[Job]]]:
        """The jobs that leave together, and when, in order."""
        gangs = [job for job in self._staying.values() if job.gang]
        due = {name for name, seconds in ends.items() if seconds > -LONGEST_OVERDUE_SECONDS}
        known = sorted((max(1, ends[job.name]), job.name) for job in gangs if job.name in due)
        for seconds, group in groupby(known, key=lambda each: each[0]):
            yield seconds, [self._staying[name] for _, name in group]
        unknown = [job for job in gangs if job.name not in due]
        free = self._free_by_node() if unknown else {}
        for job in sorted(unknown, key=lambda job: self._emptiest_first(job, free)):
            yield None, [job]

    def leave(self, jobs: Sequence[Job]) -> None:
        """Remove these jobs."""
        index = self._ledger.problem.node_index
        for job in jobs:
            del self._staying[job.name]
            rows = {index[name] for assignment in job.running for name in assignment.nodes}
            for row in rows:
                self._count(row, -1)
            self._ledger.clear(job)
            for row in rows:
                self._count(row, 1)

    def types_with_room(self) -> list[GpuType]:
        """The GPU types of which there seems to be enough, in one domain where that is required."""
        return sorted({kind for (kind, _), pods in self._room.items() if pods >= self._pods})

    def assignments(self) -> tuple[NodeName, ...]:
        """The nodes on which the gang can be placed; none if it cannot."""
        replicas = tuple(range(self._role.least))
        for kind in self.types_with_room():
            assignments = place(self._ledger, Request(self._gang, self._role, kind, replicas))
            if assignments is not None:
                return tuple(sorted({name for each in assignments for name in each.nodes}))
        return ()

    def _free_by_node(self) -> dict[NodeName, int]:
        free: dict[NodeName, int] = defaultdict(int)
        nodes = self._ledger.problem.nodes
        for device_pool in chain.from_iterable(
            self._ledger.device_pools.get(t, ()) for t in self._role.yields
        ):
            for row, milli in zip(
                device_pool.rows.tolist(), device_pool.milli.tolist(), strict=True
            ):
                free[nodes[int(row)].name] += milli
        return free

    def _emptiest_first(self, job: Job, free: Mapping[NodeName, int]) -> tuple[float, str, str]:
        names = sorted(name for assignment in job.running for name in assignment.nodes)
        most = max((free.get(name, 0) for name in names), default=-math.inf)
        return -most, names[0], job.name

    def _count(self, row: int, sign: int) -> None:
        """Add the number of the gang's pods a node has room for, or subtract it again."""
        role, ledger = self._role, self._ledger
        node = ledger.problem.nodes[row]
        if not (role.eligible >> row & 1 and ledger.open[row]):
            return
        if node.spot and not self._gang.spot_percent:
            return
        domain = 0 if self._domains is None else int(self._domains[row])
        for kind in role.yields:
            for device_pool, position in ledger.pool_rows(kind, row):
                self._room[kind, domain] += sign * ledger.room_at(device_pool, position, role)


def _runs(job: Job) -> bool:
    return bool(job.running) and job.knows_its_roles


def _largest_pods_first(job: Job) -> tuple[int, str]:
    return -max(job.role(each.role).shape.gpu_milli for each in job.running), job.name
