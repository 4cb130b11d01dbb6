"""How much of its guarantee can a queue claim? What its jobs fill of it, each in its turn.

A guarantee decides between queues. Within one, priority decides, and what runs goes before what
waits: were all that is guaranteed worth having, a queue would be worth more with an important small
job gone for a large one. So a queue claims what is filled when its jobs, in their turn, take their
least size where that is within what is left; first of all, for that is settled, what is pinned.
What there is not, or others have pinned, it cannot claim.

Of one priority all take what they hold, of the types that they hold it of, before any takes what
it lacks. So once a plan is carried out a queue can claim what it got by it, and nobody moves to
another type, or goes, for a guarantee that is in use.
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
    """Who comes first: priority, what runs, urgency, age, name."""
    return -job.priority, not job.is_running, -job.urgency_milli, job.sequence, job.name


def entitlements_of(
    nodes: Sequence[Node], jobs: Sequence[Job], queues: Iterable[Queue], chains: Chains
) -> Entitlements:
    """Milli-GPUs by queue and type, for all that is guaranteed."""
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
    for peers in _by_turn(jobs):
        turns = [
            (job, fillings[queue])
            for job in peers
            for queue in chains.get(job.queue, ())
            if queue in fillings
        ]
        for job, filling in turns:
            filling.take_held(job, _held(job, there))
        for job, filling in turns:
            filling.take_lacking(job)
    return {
        (queue, kind): milli - fillings[queue].left[kind] for (queue, kind), milli in most.items()
    }


def _by_turn(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """What is pinned, then the jobs of each priority, the highest first; each in its turn."""

    def group(job: Job) -> tuple[bool, int]:
        return not job.pinned, -job.priority

    order = sorted(jobs, key=lambda job: (*group(job), *admission_order(job)[2:]))
    return (list(peers) for _, peers in groupby(order, key=group))


@dataclass(frozen=True, slots=True)
class _Need:
    """What a role has not yet taken: replicas at the most, milli-GPUs, replicas at the least."""

    most: int
    milli: int
    fewest: int

    def replicas(self, carries: int, room: int) -> int:
        """How many replicas that carry so much it takes, if there is room for so many."""
        needed = max(0, -(-self.milli // carries), self.fewest) if carries else 0
        return min(self.most, needed, max(0, room))

    def without(self, carries: int, replicas: int) -> "_Need":
        """The rest, once it has so many that carry so much each."""
        return _Need(self.most - replicas, self.milli - replicas * carries, self.fewest - replicas)


class _Filling:
    """What is left of a queue's guarantees while its jobs take of it."""

    def __init__(self) -> None:
        self.left: dict[GpuType, int] = {}
        self._needs: dict[tuple[JobName, RoleName], _Need] = {}
        self._settled: set[JobName] = set()

    def take_held(self, job: Job, held: Held) -> None:
        """What a job holds: a whole gang, or whole replicas; of what is pinned any part."""
        if job.pinned:
            for (_, kind), milli in held.items():
                self._take(kind, min(milli, self.left.get(kind, 0)))
        elif job.gang:
            role = job.roles[0]
            self._take_gang(job, (kind for kind in role.yields if held[role.name, kind]))
        else:
            for role in job.roles:
                here = {kind: held[role.name, kind] for kind in role.yields}
                self._take_replicas(job, role, here, sorted(here, key=lambda k: (-here[k], k)))

    def take_lacking(self, job: Job) -> None:
        """What a job has not yet taken; a gang of each type, for who knows where it will be."""
        if job.pinned or job.name in self._settled:
            return
        if job.gang:
            self._take_gang(job, job.roles[0].yields)
        else:
            for role in job.roles:
                kinds = sorted(role.yields, key=lambda kind: (-role.carries(kind), kind))
                self._take_replicas(job, role, self.left, kinds)

    def _take_gang(self, job: Job, kinds: Iterable[GpuType]) -> None:
        unit = job.roles[0].least_gpu_milli
        for kind in kinds:
            if self.left.get(kind, 0) >= unit:
                self._take(kind, unit)
                self._settled.add(job.name)

    def _take_replicas(
        self, job: Job, role: Role, rooms: Mapping[GpuType, int], kinds: Iterable[GpuType]
    ) -> None:
        """As many replicas as carry what is wanted, of all types together.

        More of them would be worth their guarantee and nothing else.
        """
        unit = role.shape.gpu_milli * role.pods_per_replica
        fresh = _Need(role.counts[-1], role.wanted_milli, role.wanted_count)
        need = self._needs.get((job.name, role.name), fresh)
        for kind in kinds if unit else ():
            carries, room = role.carries(kind), min(rooms.get(kind, 0), self.left.get(kind, 0))
            replicas = need.replicas(carries, room // unit)
            need = need.without(carries, replicas)
            self._take(kind, replicas * unit)
        self._needs[job.name, role.name] = need

    def _take(self, kind: GpuType, milli: int) -> None:
        if milli:  # of a type that is not guaranteed nothing is left, and nothing taken
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
    """What is guaranteed, as far as it is there and not pinned by jobs of others."""
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
    """What a job holds now, by role and type, of nodes that there are."""
    asked = {role.name: role.shape.gpu_milli for role in job.roles}
    held: Held = defaultdict(int)
    for assignment in job.running:
        here = sum(name in there for name in assignment.nodes)
        held[assignment.role, assignment.gpu_type] += asked.get(assignment.role, 0) * here
    return held
