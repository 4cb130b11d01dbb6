"""Find replicas of a service that still serve although the plan no longer has a place for them.

A replica that moves keeps serving in its old place until its successor serves in the new one. What
it holds meanwhile is unavailable to others: nodes count as that much smaller. If its place has
already been given to a job that waits for it, the plan is left as it is.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.snapshot import JobView, NodeView, PodView, Snapshot


def surge_pods(view: JobView) -> tuple[PodView, ...]:
    """The pods of a service that serve although its placement does not include them."""
    job = view.inference
    if job is None or view.target is not None or job.status.placement is None:
        return ()
    if job.spec.suspend:
        return ()
    places = {(a.role, a.replica, a.revision) for a in job.status.placement.assignments}
    return tuple(
        pod
        for pod in view.pods
        if pod.ready
        and not pod.deleting
        and pod.draining_since is None
        and (pod.role, pod.replica, pod.revision) not in places
    )


def with_surge_counted(snapshot: Snapshot) -> Snapshot:
    """The snapshot with surge pods' requests taken from their nodes, as pods on their way out."""
    found: defaultdict[str, list[PodView]] = defaultdict(list)
    for view in snapshot.present:
        for pod in surge_pods(view):
            found[pod.node].append(pod)
    if not found:
        return snapshot
    awaited = _awaited_nodes(snapshot, {pod.uid for pods in found.values() for pod in pods})
    held = {name: [p.requests for p in pods] for name, pods in found.items() if name not in awaited}
    nodes = (_smaller(node, held) if node.name in held else node for node in snapshot.nodes)
    return replace(snapshot, nodes=tuple(nodes))


def _awaited_nodes(snapshot: Snapshot, uids: set[str]) -> set[str]:
    """The nodes on which a job has places for more pods than it has there, not counting these."""
    return {
        name
        for view in snapshot.present
        if not view.is_over
        for name in Counter(view.placed_nodes) - Counter(_there(view, uids))
    }


def _there(view: JobView, uids: set[str]) -> Iterator[str]:
    for pod in view.pods:
        if not pod.is_over and pod.uid not in uids:
            yield pod.node or pod.wanted_node


def _smaller(node: NodeView, held: Mapping[str, list[Requests]]) -> NodeView:
    requests = held[node.name]
    return replace(node.less(requests), leaving=(*node.leaving, *requests))
