"""The solver's queues, and the GPU types that their jobs ask for."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.quota.shares import Milli, guaranteed, limits
from plimsoll_placement.model import NO_GPUS, GpuType, Job, Queue, QueueName


def queues(snapshot: Snapshot, jobs: Iterable[Job], fair: Mapping[str, Milli]) -> tuple[Queue, ...]:
    """The queues; a queue that jobs name but that does not exist has no shares and no limits."""
    found = [
        Queue(
            QueueName(queue.metadata.name),
            QueueName(queue.spec.parent) if queue.spec.parent else None,
            {GpuType(kind): milli for kind, milli in guaranteed(queue).items() if milli},
            {GpuType(kind): milli for kind, milli in limits(queue).items()},
            {GpuType(kind): milli for kind, milli in fair[queue.metadata.name].items()},
        )
        for queue in snapshot.queues
    ]
    missing = {job.queue for job in jobs} - {queue.name for queue in found}
    return (*found, *(Queue(name) for name in sorted(missing)))


def asking(snapshot: Snapshot, jobs: Iterable[Job]) -> dict[str, set[str]]:
    """The queues whose jobs ask for each GPU type, parents included."""
    parents = {queue.metadata.name: queue.spec.parent for queue in snapshot.queues}
    asking: dict[str, set[str]] = defaultdict(set)
    pairs = {(j.queue, kind) for j in jobs for r in j.roles for kind in r.yields}
    for queue, kind in (pair for pair in pairs if pair[1] != NO_GPUS):
        at: str | None = queue
        while at is not None and at not in asking[kind]:
            asking[kind].add(at)
            at = parents.get(at)
    return asking
