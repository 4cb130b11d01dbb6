"""What feature discovery says of nodes, which it may take back while it is updated.

Node Feature Discovery removes a node's labels when it is replaced, and writes them anew a moment
later. Meanwhile nobody would know the node's GPUs, nor which nodes an NVLink domain consists of.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from plimsoll.kube.objects.objects import Labels, Node
from plimsoll.observe.kept import same

DISCOVERY_GRACE: Final = timedelta(minutes=5)
"""How long labels count that a node has lost together with discovery's name of its GPUs."""
_DISCOVERED: Final = ("nvidia.com/", "amd.com/", "beta.amd.com/", "feature.node.kubernetes.io/")
_NAMES: Final = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
)
"""Clouds name GPUs by labels of their own, but otherwise."""


class _Known(NamedTuple):
    """A node as it was given, as it counts, since when it lacks labels, and which it had."""

    given: Node
    counts_as: Node
    since: datetime | None
    labels: Labels


class DiscoveredLabels:
    """Gives nodes back for a while what feature discovery has said of them."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._given: Sequence[Node] = ()
        self._made: tuple[Node, ...] = ()
        self._is_whole = True

    def of(self, nodes: Sequence[Node], now: datetime) -> tuple[Node, ...]:
        """The nodes with the labels that they had just now; the same object while nothing changes.

        Labels are only given back where discovery names no GPUs any more: then all are away.
        """
        if not (self._is_whole and same(nodes, self._given)):
            known = [self._as_known(node, now) for node in nodes]
            self._known = {each.given.metadata.name: each for each in known}
            self._given, self._made = nodes, tuple(each.counts_as for each in known)
            self._is_whole = all(each.counts_as is each.given for each in known)
        return self._made

    def _as_known(self, node: Node, now: datetime) -> _Known:
        known, labels = self._known.get(node.metadata.name), node.metadata.labels
        if known is not None and known.given.metadata.uid != node.metadata.uid:
            known = None
        if known is not None and known.given is node:
            is_over = known.since is not None and now - known.since > DISCOVERY_GRACE
            return _Known(node, node, known.since, {}) if is_over else known
        if any(name in labels for name in _NAMES):
            return _Known(node, node, None, _discovered(labels))
        if known is None or not known.labels:
            return _Known(node, node, None, {})
        since = known.since or now
        if now - since > DISCOVERY_GRACE:
            return _Known(node, node, since, {})
        metadata = msgspec.structs.replace(node.metadata, labels={**known.labels, **labels})
        return _Known(node, msgspec.structs.replace(node, metadata=metadata), since, known.labels)


def _discovered(labels: Labels) -> Labels:
    return {name: value for name, value in labels.items() if name.startswith(_DISCOVERED)}
