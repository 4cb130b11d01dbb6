"""How 10,000 pods stay small: parts that are equal in many objects are kept once.

Pods of one template have equal containers, pods of one node equal affinity, and nearly all pods
equal tolerations and conditions; that is more than half of what a pod takes.
"""

from typing import TypeVar, cast

import msgspec

from plimsoll.kube.objects import Pod

P = TypeVar("P")

_encode = msgspec.msgpack.Encoder().encode


class SharedParts:
    """Hands out the first of equal values for all of them; forgets them all when it is full."""

    def __init__(self, limit: int = 20_000) -> None:
        self._limit = limit
        self._parts: dict[tuple[str, bytes], object] = {}

    def one(self, field: str, part: P) -> P:
        """The value to keep for `part`, equal to it. One `field` holds values of one type only."""
        if len(self._parts) >= self._limit:
            self._parts.clear()
        return cast("P", self._parts.setdefault((field, _encode(part)), part))


class PodSharing:
    """A transform for a list-watch of pods: the same pod with its common parts shared."""

    def __init__(self) -> None:
        self._parts = SharedParts()

    def __call__(self, pod: Pod) -> Pod:
        """The pod, with as much of it shared as can be."""
        one, spec, status = self._parts.one, pod.spec, pod.status
        return msgspec.structs.replace(
            pod,
            spec=msgspec.structs.replace(
                spec,
                containers=one("containers", spec.containers),
                init_containers=one("containers", spec.init_containers),
                affinity=one("affinity", spec.affinity),
                tolerations=one("tolerations", spec.tolerations),
            ),
            status=msgspec.structs.replace(
                status,
                conditions=one("conditions", status.conditions),
                container_statuses=one("statuses", status.container_statuses),
            ),
        )
