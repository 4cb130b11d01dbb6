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
from plimsoll.observe.nodes.gpus import DISCOVERED_PRODUCTS

DISCOVERY_GRACE: Final = timedelta(minutes=5)
"""How long labels count that a node has lost together with discovery's name of its GPUs."""
_DISCOVERED: Final = ("nvidia.com/", "amd.com/", "beta.amd.com/", "feature.node.kubernetes.io/")


class _Lost(NamedTuple):
    """What a node has lost and since when, the node as it was given, and as it counts."""

    since: datetime
    labels: Labels
    given: Node
    counts_as: Node


class DiscoveredLabels:
    """Gives nodes back for a while what feature discovery has said of them."""

    def __init__(self) -> None:
        self._given: Sequence[Node] = ()
        self._made: tuple[Node, ...] = ()
        self._before: dict[str, Node] = {}
        self._lost: dict[str, _Lost] = {}

    def of(self, nodes: Sequence[Node], now: datetime) -> tuple[Node, ...]:
        """The nodes with the labels that they had just now; the same objects while nothing changes.

        Labels are only given back where discovery names no GPUs any more: then all are away.
        """
        if self._lost or not same(nodes, self._given):
            lost = ((node.metadata.name, self._lost_of(node, now)) for node in nodes)
            self._lost = {name: found for name, found in lost if found is not None}
            self._before = {node.metadata.name: node for node in nodes}
            self._given, self._made = nodes, tuple(map(self._as_it_counts, nodes))
        return self._made

    def _as_it_counts(self, node: Node) -> Node:
        lost = self._lost.get(node.metadata.name)
        return node if lost is None else lost.counts_as

    def _lost_of(self, node: Node, now: datetime) -> _Lost | None:
        """What a node has lost just now; None if it has its labels, or never had them."""
        before = self._before.get(node.metadata.name)
        if _is_named(node) or before is None or before.metadata.uid != node.metadata.uid:
            return None
        known = self._lost.get(node.metadata.name)
        if known is None and not _is_named(before):
            return None
        since, labels = (now, _discovered(before)) if known is None else known[:2]
        if now - since > DISCOVERY_GRACE:
            return None
        if known is not None and known.given is node:
            return known
        metadata = msgspec.structs.replace(node.metadata, labels={**labels, **node.metadata.labels})
        return _Lost(since, labels, node, msgspec.structs.replace(node, metadata=metadata))


def _is_named(node: Node) -> bool:
    return any(name in node.metadata.labels for name in DISCOVERED_PRODUCTS)


def _discovered(node: Node) -> Labels:
    labels = node.metadata.labels
    return {name: value for name, value in labels.items() if name.startswith(_DISCOVERED)}
