"""How much of its guarantee each queue can claim: what its jobs would fill, in admission order.

A guarantee decides between queues. Within a queue, priority decides, and running jobs come before
waiting ones: if everything guaranteed counted, swapping an important small job for a large one
would raise the queue's score. So a queue claims what its jobs fill, taking their least size in
admission order where that fits into what is left. What is pinned comes first, for it is settled. A
queue cannot claim what does not exist or what other queues have pinned.

Within a priority, all jobs first take what they hold, of the types they hold it of; only then does
any of them take what it lacks. So once a plan is carried out the queue can claim what the plan gave
it, and no job changes type or stops because of a guarantee that is already in use.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from plimsoll_placement.model import (
    GpuType,
    Job,
    JobName,
    Node,
    NodeName,
    Queue,
    QueueName,
    Role,
    RoleName,
)

Milli = defaultdict[GpuType, int]
Held = defaultdict[tuple[RoleName, GpuType], int]
Entitlements = dict[tuple[QueueName, GpuType], int]
Chains = Mapping[QueueName, tuple[QueueName, ...]]
"""Each queue with its ancestors, itself first."""


def admission_order(job: Job) -> tuple[int, bool, int, int, str]:
    """Admission order: priority, running before waiting, urgency, age, name."""
    return -job.priority, not job.is_running, -job.urgency_milli, job.sequence, job.name


def entitlements_of(
    nodes: Sequence[Node], jobs: Sequence[Job], queues: Iterable[Queue], chains: Chains
) -> Entitlements:
    """Milli-GPUs by queue and type, for everything that is guaranteed."""
    guaranteed = {
        (queue.name, kind): milli for queue in queues for kind, milli in queue.guaranteed.items()
    }
    if not guaranteed:
        return {}
    there = frozenset(node.name for node in nodes)
    most = _claimable(guaranteed, nodes, _pinned(jobs, there), chains)
    fillings: dict[QueueName, _Filling] = defaultdict(_Filling)
    for (queue, kind), milli in most.items():
        fillings[queue].left[kind] = milli
    mine = (job for job in jobs if not fillings.keys().isdisjoint(chains.get(job.queue, ())))
    for peers in _by_turn(mine):
        turns = [
            (job, fillings[queue])
            for job in peers
            for queue in chains.get(job.queue, ())
            if queue in fillings
        ]
        for job, filling in turns:
            if not filling.is_full:
                filling.take_held(job, _held(job, there))
        for job, filling in turns:
            if not filling.is_full:
                filling.take_lacking(job)
    return {
        (queue, kind): milli - fillings[queue].left[kind] for (queue, kind), milli in most.items()
    }


def _by_turn(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """What is pinned, then the jobs of each priority, highest first; each in admission order."""

    def group(job: Job) -> tuple[bool, int]:
        return not job.pinned, -job.priority

    order = sorted(jobs, key=lambda job: (*group(job), *admission_order(job)[2:]))
    return (list(peers) for _, peers in groupby(order, key=group))


@dataclass(frozen=True, slots=True)
class _Need:
    """What a role has still to take: replicas at most, load to carry, replicas at least."""

    most: int
    load: int
    fewest: int

    def replicas(self, carries: int, room: int) -> int:
        """How many replicas that carry this much each it takes, given room for `room`."""
        needed = max(0, -(-self.load // carries), self.fewest) if carries else 0
        return min(self.most, needed, max(0, room))

    def without(self, carries: int, replicas: int) -> "_Need":
        """What remains once it has this many replicas that carry this much each."""
        return _Need(self.most - replicas, self.load - replicas * carries, self.fewest - replicas)


class _Filling:
    """What is left of a queue's guarantees while its jobs draw on them."""

    def __init__(self) -> None:
        self.left: dict[GpuType, int] = {}
        self._needs: dict[tuple[JobName, RoleName], _Need] = {}
        self._settled: set[JobName] = set()

    @property
    def is_full(self) -> bool:
        """Whether nothing is left, so that no job takes anything any more."""
        return not any(self.left.values())

    def take_held(self, job: Job, held: Held) -> None:
        """Take what a job holds: a whole gang, or whole replicas; any part of what is pinned."""
        if job.pinned:
            for (_, kind), milli in held.items():
                self._take(kind, min(milli, self.left.get(kind, 0)))
        elif job.gang:
            for role in job.roles:
                kinds = [kind for kind in role.yields if held[role.name, kind]]
                self._take_gang(job, role, kinds)
        else:
            for role in job.roles:
                here = {kind: held[role.name, kind] for kind in role.yields}
                self._take_replicas(job, role, here, sorted(here, key=lambda k: (-here[k], k)))

    def take_lacking(self, job: Job) -> None:
        """Take what a job still lacks; a gang takes it of each type, as it may run on any."""
        if job.pinned or job.name in self._settled:
            return
        if job.gang:
            for role in job.roles:
                self._take_gang(job, role, role.yields)
        else:
            for role in job.roles:
                kinds = sorted(role.yields, key=lambda kind: (-role.carries(kind), kind))
                self._take_replicas(job, role, self.left, kinds)

    def _take_gang(self, job: Job, role: Role, kinds: Iterable[GpuType]) -> None:
        unit = role.least_gpu_milli
        for kind in kinds if unit else ():
            if self.left.get(kind, 0) >= unit:
                self._take(kind, unit)
                self._settled.add(job.name)

    def _take_replicas(
        self, job: Job, role: Role, rooms: Mapping[GpuType, int], kinds: Iterable[GpuType]
    ) -> None:
        """Take enough replicas, over all types together, to carry what is wanted.

        More of them would be worth their guarantee and nothing else.
        """
        unit = role.shape.gpu_milli * role.pods_per_replica
        fresh = _Need(role.counts[-1], role.wanted_load, role.wanted_count)
        need = self._needs.get((job.name, role.name), fresh)
        for kind in kinds if unit else ():
            carries, room = role.carries(kind), min(rooms.get(kind, 0), self.left.get(kind, 0))
            replicas = need.replicas(carries, room // unit)
            need = need.without(carries, replicas)
            self._take(kind, replicas * unit)
        self._needs[job.name, role.name] = need

    def _take(self, kind: GpuType, milli: int) -> None:
        if milli:  # nothing is left of a type that is not guaranteed, and nothing is taken
            self.left[kind] -= milli


def _pinned(jobs: Iterable[Job], there: Container[NodeName]) -> list[tuple[QueueName, Held]]:
    """What each pinned job holds, with its queue."""
    return [(job.queue, _held(job, there)) for job in jobs if job.pinned]


def _claimable(
    guaranteed: Entitlements,
    nodes: Iterable[Node],
    pinned: Iterable[tuple[QueueName, Held]],
    chains: Chains,
) -> Entitlements:
    """What is guaranteed, as far as it exists and other queues' jobs have not pinned it."""
    left: Milli = defaultdict(int)
    for node in nodes:
        for devices in node.devices:
            left[devices.gpu_type] += sum(devices.free_milli)
    own: defaultdict[tuple[QueueName, GpuType], int] = defaultdict(int)
    for queue_of_job, held in pinned:
        for (_, kind), milli in held.items():
            left[kind] -= milli
            for queue in chains.get(queue_of_job, ()):
                own[queue, kind] += milli
    return {
        (queue, kind): max(0, min(milli, left[kind] + own[queue, kind]))
        for (queue, kind), milli in guaranteed.items()
    }


def _held(job: Job, there: Container[NodeName]) -> Held:
    """What a job holds now on existing nodes, by role and type."""
    requested = {role.name: role.shape.gpu_milli for role in job.roles}
    held: Held = defaultdict(int)
    for assignment in job.running:
        here = sum(name in there for name in assignment.nodes)
        held[assignment.role, assignment.gpu_type] += requested.get(assignment.role, 0) * here
    return held
