"""Find places to which a job cannot return: its pods there are gone, and the node takes none.

`kubectl drain` cordons a node and evicts its pods, a node that comes and goes is tainted meanwhile.
What still runs there may stay, but a pod that is gone would not be bound there again. So its
replica is planned as if it had no place; of a gang, which any lost pod restarts, none of the closed
nodes is used again. Adopted workloads and targets are left to their controllers.
"""

from collections.abc import Set as AbstractSet

from plimsoll.api.parts.placement import Assignment
from plimsoll.observe.snapshot import JobView, PodView, Snapshot

_Key = tuple[str, int, int, int]
"""A role, a replica, its revision, and the rank of a pod in it."""


def lost_places(view: JobView, snapshot: Snapshot) -> tuple[Assignment, ...]:
    """The places of a job on closed nodes, which are not to be used again."""
    closed, placement = snapshot.closed_nodes, view.resource.status.placement
    if placement is None or closed.isdisjoint(view.placed_nodes) or _is_of_others(view):
        return ()
    there = {_key(pod, pod.rank) for pod in view.pods if _is_there(pod)}
    missing = [(place, _nodes_without(place, there)) for place in placement.assignments]
    if view.training is None:
        return tuple(place for place, nodes in missing if not closed.isdisjoint(nodes))
    if _has_failed(view) or not any(nodes for _, nodes in missing):
        return ()
    return tuple(place for place, _ in missing if not closed.isdisjoint(place.nodes))


def _is_of_others(view: JobView) -> bool:
    return view.target is not None or view.workload is not None


def _has_failed(view: JobView) -> bool:
    """Whether a worker has failed by itself, which is first to be counted."""
    return any(pod.phase == "Failed" and not pod.disrupted for pod in view.pods)


def _nodes_without(place: Assignment, there: AbstractSet[_Key]) -> list[str]:
    """The nodes of a replica's pods that are gone, or have no node yet."""
    return [node for rank, node in enumerate(place.nodes) if _key(place, rank) not in there]


def _key(of: Assignment | PodView, rank: int) -> _Key:
    return of.role, of.replica, of.revision, rank


def _is_there(pod: PodView) -> bool:
    return pod.phase == "Succeeded" or bool(pod.node and not pod.deleting and not pod.is_over)
