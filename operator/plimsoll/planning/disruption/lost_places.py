"""Find places to which a job cannot return: its pods there are gone, and the node takes none.

`kubectl drain` cordons a node and evicts its pods, a node that comes and goes is tainted meanwhile.
What still runs there may stay, but a pod that is gone would not be bound there again. So its
replica is planned as if it had no place; of a gang, which any lost pod restarts, none of the closed
nodes is used again. Workloads that replace single pods by themselves are left to their controllers.
"""

from collections import Counter
from collections.abc import Iterator

from plimsoll.api.parts.placement import Assignment
from plimsoll.observe.snapshot import JobView, PodView, Snapshot
from plimsoll.planning.cluster.leaving import is_resized_live


def lost_places(view: JobView, snapshot: Snapshot) -> tuple[Assignment, ...]:
    """The places of a job on closed nodes, which are not to be used again."""
    closed = snapshot.closed_nodes
    if closed.isdisjoint(view.placed_nodes) or _is_left_to_others(view):
        return ()
    lost = tuple(_without_pods(view))
    placement = view.resource.status.placement
    if lost and view.training is not None and placement is not None:
        lost = placement.assignments
    return tuple(each for each in lost if not closed.isdisjoint(each.nodes))


def _is_left_to_others(view: JobView) -> bool:
    return view.target is not None or view.stays or is_resized_live(view)


def _without_pods(view: JobView) -> Iterator[Assignment]:
    """The places of replicas that lack a pod, or of which one has no node yet."""
    there = Counter((pod.role, pod.replica, pod.revision) for pod in view.pods if _is_there(pod))
    placement = view.resource.status.placement
    for place in placement.assignments if placement else ():
        if there[place.role, place.replica, place.revision] < len(place.nodes):
            yield place


def _is_there(pod: PodView) -> bool:
    return pod.phase == "Succeeded" or bool(pod.node and not pod.deleting and not pod.is_over)
