"""Compute queues' fair shares: the guarantee, and a weighted part of the rest.

At each level of the tree, the parent's share minus its children's guarantees is divided by weight
among the children whose jobs demand that GPU type.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from plimsoll.api.job_queue import JobQueue
from plimsoll.api.values.quantities import thousandths

Milli = Mapping[str, int]


def guaranteed(queue: JobQueue) -> dict[str, int]:
    """The queue's own guarantee, in milli-GPUs by type."""
    return {quota.type: thousandths(quota.guaranteed) for quota in queue.spec.quotas}


def limits(queue: JobQueue) -> dict[str, int]:
    """Milli-GPUs by type that the queue never exceeds; a missing type has no limit."""
    return {
        quota.type: thousandths(quota.limit)
        for quota in queue.spec.quotas
        if quota.limit is not None
    }


def children_of(queues: Iterable[JobQueue]) -> dict[str | None, list[JobQueue]]:
    """The tree of queues: children by parent; under None those without an existing parent."""
    children: dict[str | None, list[JobQueue]] = defaultdict(list)
    known = tuple(queues)
    names = {queue.metadata.name for queue in known}
    for queue in known:
        children[queue.spec.parent if queue.spec.parent in names else None].append(queue)
    return children


def fair_shares(
    queues: Iterable[JobQueue], supply: Milli, asking: Mapping[str, AbstractSet[str]]
) -> dict[str, dict[str, int]]:
    """Fair milli-GPUs by queue and type.

    `supply`: milli-GPUs by type in the cluster; `asking`: the queues whose jobs demand a type,
    including their ancestors.
    """
    children = children_of(queues)
    shares: dict[str, dict[str, int]] = defaultdict(dict)
    for kind, milli in supply.items():
        for name, share in _shared_out(children, kind, milli, asking.get(kind, frozenset())):
            shares[name][kind] = share
    return shares


def _shared_out(
    children: Mapping[str | None, list[JobQueue]],
    kind: str,
    milli: int,
    asking: AbstractSet[str],
) -> Iterator[tuple[str, int]]:
    """What each queue gets of a type, from the roots of the tree down, however deep it is."""
    unvisited: list[tuple[str | None, int]] = [(None, milli)]
    while unvisited:
        parent, has = unvisited.pop()
        those = [queue for queue in children.get(parent, []) if queue.metadata.name in asking]
        weights = sum(queue.spec.weight for queue in those)
        rest = max(0, has - sum(guaranteed(queue).get(kind, 0) for queue in those))
        for queue in those:
            share = guaranteed(queue).get(kind, 0) + rest * queue.spec.weight // weights
            yield queue.metadata.name, share
            unvisited.append((queue.metadata.name, share))
