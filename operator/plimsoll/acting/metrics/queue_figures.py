"""What queues use and are due, what that costs, and the energy that it takes, as metrics.

All figures of a queue include its children's, as in its status.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from plimsoll.acting.metrics.labels import (
    UNKNOWN_QUEUE,
    counted_as,
    counted_queues,
    counted_types,
    pool_label,
)
from plimsoll.acting.metrics.published import Published
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.cluster.holdings import Holdings
from plimsoll.planning.power.queue_watts import watts_by_queue
from plimsoll.planning.quota.shares import guaranteed, limits
from plimsoll.vocabulary import metrics
from plimsoll_placement.model import WHOLE_GPU_MILLI, Job, QueueName
from plimsoll_placement.problem import Problem

_COUNTERS: Final = (
    metrics.ADMITTED_JOBS,
    metrics.ADMISSION_WAIT,
    metrics.FINISHED_JOBS,
    metrics.LOST_GPU_SECONDS,
    metrics.PREEMPTED_JOBS,
    metrics.QUEUE_ENERGY,
)
_Chains = Mapping[QueueName, tuple[str, ...]]
"""The labels of each queue and of its ancestors."""
_ByType = Mapping[tuple[str, str], int]
"""Milli-GPUs by queue and GPU type."""
_ByPool = Mapping[tuple[str, str, str], int]
"""Milli-GPUs by queue, GPU type and pool."""


class QueueFigures:
    """Reports the figures of all queues; remembers what they drew when it last did."""

    def __init__(self) -> None:
        self._used = Published(metrics.QUEUE_GPUS_USED)
        self._guaranteed = Published(metrics.QUEUE_GPUS_GUARANTEED)
        self._limits = Published(metrics.QUEUE_GPUS_LIMIT)
        self._borrowed = Published(metrics.QUEUE_GPUS_BORROWED)
        self._owed = Published(metrics.QUEUE_GPUS_OWED)
        self._waiting = Published(metrics.QUEUE_GPUS_WAITING)
        self._dollars = Published(metrics.QUEUE_DOLLARS_PER_HOUR)
        self._queues = frozenset[str]()
        self._reported_at: datetime | None = None
        self._watts: Mapping[str, float] = {}

    def report(self, snapshot: Snapshot, problem: Problem, held: Holdings) -> None:
        """Report the present figures, and the energy used since the last report."""
        self._forget_gone(counted_queues(snapshot))
        chains = _chains(problem, self._queues)
        used = _used(snapshot, held, chains)
        by_type, own = _by_type(used), _guaranteed(snapshot)
        self._used.publish(_gpus(used))
        self._guaranteed.publish(_gpus(own))
        self._limits.publish(_gpus(_limits(snapshot)))
        self._borrowed.publish(_gpus({k: max(0, m - own.get(k, 0)) for k, m in by_type.items()}))
        self._owed.publish(_gpus(_owed(problem, by_type)))
        types = counted_types(snapshot, problem)
        self._waiting.publish(_gpus(_waiting(problem.jobs, chains, types)))
        self._dollars.publish(_dollars(snapshot, used))
        self._count_energy(snapshot, held, chains)

    def forget(self) -> None:
        """Stop reporting: another replica does."""
        self._reported_at, self._watts = None, {}
        for gauge in (
            *(self._used, self._guaranteed, self._limits, self._borrowed, self._owed),
            *(self._waiting, self._dollars),
        ):
            gauge.publish({})

    def _forget_gone(self, queues: frozenset[str]) -> None:
        """Drop what was counted of queues that are gone."""
        gone, self._queues = self._queues - queues, queues
        for name in gone:
            for counter in _COUNTERS:
                counter.remove_by_labels({"queue": name})

    def _count_energy(self, snapshot: Snapshot, held: Holdings, chains: _Chains) -> None:
        """Count what queues have drawn since the last report at what they drew then."""
        before, self._reported_at = self._reported_at, snapshot.now
        seconds = 0.0 if before is None else (snapshot.now - before).total_seconds()
        for queue in self._watts.keys() & {*self._queues, UNKNOWN_QUEUE}:
            metrics.QUEUE_ENERGY.labels(queue).inc(self._watts[queue] * max(0.0, seconds))
        watts: dict[str, float] = defaultdict(float)
        for queue, each in watts_by_queue(snapshot, held).items():
            for name in chains[queue]:
                watts[name] += each
        for queue in watts:
            metrics.QUEUE_ENERGY.labels(queue)  # so that it grows from 0, which rates need
        self._watts = watts


def _gpus(milli: Mapping[tuple[str, ...], int]) -> dict[tuple[str, ...], float]:
    return {labels: each / WHOLE_GPU_MILLI for labels, each in milli.items()}


def _chains(problem: Problem, queues: frozenset[str]) -> _Chains:
    return {
        queue: tuple(counted_as(name, queues) for name in chain)
        for queue, chain in problem.queue_chain.items()
    }


def _used(snapshot: Snapshot, held: Holdings, chains: _Chains) -> _ByPool:
    own: dict[tuple[QueueName, str, str], int] = defaultdict(int)
    for (queue, kind, node), milli in held.gpu_milli.items():
        if milli:
            own[queue, kind, pool_label(node, snapshot)] += milli
    used: dict[tuple[str, str, str], int] = defaultdict(int)
    for (queue, kind, pool), milli in own.items():
        for name in chains[queue]:
            used[name, kind, pool] += milli
    return used


def _by_type(used: _ByPool) -> _ByType:
    found: dict[tuple[str, str], int] = defaultdict(int)
    for (queue, kind, _), milli in used.items():
        found[queue, kind] += milli
    return found


def _guaranteed(snapshot: Snapshot) -> _ByType:
    return {
        (queue.metadata.name, kind): milli
        for queue in snapshot.queues
        for kind, milli in guaranteed(queue).items()
    }


def _limits(snapshot: Snapshot) -> _ByType:
    return {
        (queue.metadata.name, kind): milli
        for queue in snapshot.queues
        for kind, milli in limits(queue).items()
    }


def _owed(problem: Problem, used: _ByType) -> _ByType:
    """What queues could claim of their guarantees and do not have."""
    return {
        (queue, kind): max(0, milli - used.get((queue, kind), 0))
        for (queue, kind), milli in problem.entitlements.items()
    }


def _waiting(jobs: Iterable[Job], chains: _Chains, types: frozenset[str]) -> _ByType:
    """What jobs without a place need to start, under each type that they could run on."""
    waiting: dict[tuple[str, str], int] = defaultdict(int)
    for job in (job for job in jobs if not job.running):
        for kind in {str(kind) for role in job.roles for kind in role.yields} & types:
            for name in chains[job.queue]:
                waiting[name, kind] += _needed_milli(job, kind)
    return waiting


def _needed_milli(job: Job, kind: str) -> int:
    """The milli-GPUs that a job needs of a type to start: at least one replica of a service."""
    return sum(
        max(role.least, min(1, role.wanted_count)) * role.pods_per_replica * role.shape.gpu_milli
        for role in job.roles
        if kind in role.yields
    )


def _dollars(snapshot: Snapshot, used: _ByPool) -> dict[tuple[str, ...], float]:
    """Dollars an hour by queue and pool, of pools that have a price."""
    prices = {pool.metadata.name: pool.spec.price_per_gpu_hour for pool in snapshot.pools}
    found: dict[tuple[str, ...], float] = defaultdict(float)
    for (queue, _, pool), milli in used.items():
        if prices.get(pool):
            found[queue, pool] += float(prices[pool]) * milli / WHOLE_GPU_MILLI
    return found
