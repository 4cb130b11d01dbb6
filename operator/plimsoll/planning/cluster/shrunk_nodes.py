"""Let jobs stay on nodes that have less room by now than their pods hold.

A node's allocatable CPU, memory or pods can shrink while pods run there, as when more is reserved
for the system, and its network devices are gone while their plugin restarts. Kubernetes lets the
pods run on, and so do plans: such a node counts as if it had just what they hold, and takes nothing
new. Pods that are not bound there do not count, since kube-scheduler would refuse them. Of GPUs see
`observe/views/silent_gpus.py`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.snapshot import JobView, NodeView, PodView, Snapshot
from plimsoll.planning.cluster.overhead import ByNode, Overheads
from plimsoll.planning.cluster.pod_requests import besides_gpus
from plimsoll.planning.faults import Guard, unguarded
from plimsoll_placement.model import amount_in


@dataclass(slots=True)
class _Held:
    """What pods of jobs hold of a node, and how many there are."""

    cpu_millis: int = 0
    memory_bytes: int = 0
    pods: int = 0
    others: Counter[str] = field(default_factory=Counter[str])


class ShrunkNodes:
    """Finds the nodes with too little room; looks only where a node is new or has become less."""

    def __init__(self) -> None:
        self._nodes: tuple[NodeView, ...] = ()
        self._doubted: set[str] = set()
        self._roomy: dict[str, tuple[NodeView, _Held, NodeView]] = {}
        """By name the nodes that had too little room, what was held, and what they count as."""

    def with_room(
        self, snapshot: Snapshot, overheads: Overheads, overhead: ByNode, guard: Guard = unguarded
    ) -> Snapshot:
        """The snapshot, in which nodes have room for what jobs' pods hold there."""
        before, self._nodes = self._nodes, snapshot.nodes
        self._doubted |= _less(before, snapshot.nodes)
        if not self._doubted:
            return snapshot
        held = _held(snapshot, self._doubted, overheads, guard)
        for name, found in overhead.items():
            if name in held:
                held[name].cpu_millis += found.cpu_millis
                held[name].memory_bytes += found.memory_bytes
                held[name].others.update(dict(found.others))
        nodes = tuple(
            self._with_room(node, held[node.name]) if node.name in held else node
            for node in snapshot.nodes
        )
        kept = zip(snapshot.nodes, nodes, strict=True)
        self._doubted = {now.name for was, now in kept if was is not now}
        self._roomy = {name: self._roomy[name] for name in self._doubted}
        return replace(snapshot, nodes=nodes) if self._doubted else snapshot

    def _with_room(self, node: NodeView, held: _Held) -> NodeView:
        """The node with room for what is held: the same object as long as both stay the same."""
        known = self._roomy.get(node.name)
        if known is not None and known[0] is node and known[1] == held:
            return known[2]
        roomy = _with_room(node, held)
        self._roomy[node.name] = node, held, roomy
        return roomy


def _less(before: Sequence[NodeView], now: Sequence[NodeView]) -> set[str]:
    """The nodes that are new or have less room than before."""
    if before is now:
        return set()
    known = {node.name: node for node in before}
    return {
        node.name
        for node in now
        if (was := known.get(node.name)) is not node and (was is None or _is_less(was, node))
    }


def _is_less(was: NodeView, now: NodeView) -> bool:
    others = dict(now.others_left)
    return (
        now.cpu_millis < was.cpu_millis
        or now.memory_bytes < was.memory_bytes
        or now.pod_slots < was.pod_slots
        or any(others.get(name, 0) < amount for name, amount in was.others_left)
    )


def _held(
    snapshot: Snapshot, names: AbstractSet[str], overheads: Overheads, guard: Guard
) -> Mapping[str, _Held]:
    """What the pods in jobs' places hold of these nodes, at most by their templates."""
    found: defaultdict[str, _Held] = defaultdict(_Held)
    for view in snapshot.present:
        if names.isdisjoint(view.placed_nodes):
            continue
        with guard(view):
            requested = overheads.by_role(view)
            for pod in _in_place(view):
                template = requested.get(pod.role)
                if pod.node in names and template is not None:
                    _add(found[pod.node], pod.requests, template)
    return found


def _in_place(view: JobView) -> Iterator[PodView]:
    """The pods of a job that are bound where it has places."""
    there = set(view.placed_nodes)
    return (pod for pod in view.pods if pod.node in there and not pod.is_over)


def _add(held: _Held, pod: Requests, template: Requests) -> None:
    """Count a pod; its template may have changed since, and by more than the place has."""
    held.cpu_millis += min(pod.cpu_millis, template.cpu_millis)
    held.memory_bytes += min(pod.memory_bytes, template.memory_bytes)
    held.pods += 1
    for name, amount in besides_gpus(template).items():
        held.others[name] += min(amount, pod.others.get(name, 0))


def _with_room(node: NodeView, held: _Held) -> NodeView:
    """The node with room for what is held; the same object if it has enough."""
    others = dict(node.others)
    for name, amount in held.others.items():
        taken = amount + node.unmanaged_units.get(name, 0)
        if taken > amount_in(others, name):
            others[name] = taken
    roomy = replace(
        node,
        cpu_millis=max(node.cpu_millis, held.cpu_millis),
        memory_bytes=max(node.memory_bytes, held.memory_bytes),
        pod_slots=max(node.pod_slots, held.pods),
        others=tuple(sorted(others.items())),
    )
    return node if roomy == node else roomy
