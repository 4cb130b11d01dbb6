"""Keep 10,000 pods and nodes small by storing equal parts of objects once.

Pods of one template have equal containers, pods of one node equal affinity, and nearly all pods
equal tolerations and conditions; that is more than half of a pod's memory. Transition times make
conditions differ, so they are kept only for the named types.
"""

from collections.abc import Collection
from sys import intern
from typing import Final, TypeVar, cast

import msgspec

from plimsoll.kube.objects.objects import Labels, Node, Pod, PodCondition

P = TypeVar("P")
_NO_NOTES: Final[Labels] = {}

_OWN = "plimsoll.dev/"
_encode = msgspec.msgpack.Encoder().encode


class SharedParts:
    """Returns the first of equal values for all of them; forgets them all when it is full."""

    def __init__(self, limit: int = 20_000) -> None:
        self._limit = limit
        self._parts: dict[tuple[str, bytes], object] = {}

    def one(self, field: str, part: P) -> P:
        """The stored value equal to `part`. One `field` holds values of one type only."""
        if len(self._parts) >= self._limit:
            self._parts.clear()
        return cast("P", self._parts.setdefault((field, _encode(part)), part))


class NodeSharing:
    """A transform for a list-watch of nodes: without notes that are not ours, amounts shared.

    Nodes of one type offer the same, and the values of most of their labels are alike.
    """

    def __init__(self) -> None:
        self._parts = SharedParts()

    def __call__(self, node: Node) -> Node:
        """The node, with as many parts shared as possible."""
        one, meta, status = self._parts.one, node.metadata, node.status
        own = {name: value for name, value in meta.annotations.items() if name.startswith(_OWN)}
        labels = {intern(name): intern(value) for name, value in meta.labels.items()}
        return msgspec.structs.replace(
            node,
            metadata=msgspec.structs.replace(meta, annotations=own or _NO_NOTES, labels=labels),
            status=msgspec.structs.replace(
                status,
                capacity=one("amounts", status.capacity),
                allocatable=one("amounts", status.allocatable),
            ),
        )


class PodSharing:
    """A transform for a list-watch of pods: the same pod with its common parts shared.

    Of volumes those by claims are kept, and transition times for conditions of the types `dated`.
    """

    def __init__(self, dated: Collection[str] = ()) -> None:
        self._parts = SharedParts()
        self._dated = dated

    def __call__(self, pod: Pod) -> Pod:
        """The pod, with as many parts shared as possible."""
        one, spec, status = self._parts.one, pod.spec, pod.status
        return msgspec.structs.replace(
            pod,
            spec=msgspec.structs.replace(
                spec,
                containers=one("containers", spec.containers),
                init_containers=one("containers", spec.init_containers),
                affinity=one("affinity", spec.affinity),
                tolerations=one("tolerations", spec.tolerations),
                volumes=spec.claimed,
            ),
            status=msgspec.structs.replace(
                status,
                conditions=self._conditions(status.conditions),
                container_statuses=one("statuses", status.container_statuses),
            ),
        )

    def _conditions(self, conditions: tuple[PodCondition, ...]) -> tuple[PodCondition, ...]:
        if not any(each.last_transition_time for each in conditions if each.type in self._dated):
            conditions = tuple(map(_timeless, conditions))
            return self._parts.one("conditions", conditions)
        return tuple(
            each if each.type in self._dated else self._parts.one("condition", _timeless(each))
            for each in conditions
        )


def _timeless(condition: PodCondition) -> PodCondition:
    if condition.last_transition_time is None:
        return condition
    return msgspec.structs.replace(condition, last_transition_time=None)
