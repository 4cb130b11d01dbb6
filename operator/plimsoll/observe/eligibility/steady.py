"""Nodes as they are most of the time."""

from collections.abc import Iterable

import msgspec

from plimsoll.kube.objects.objects import Node


class SteadyNodes:
    """Makes nodes steady; returns the same object while a node is the same."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Node, Node]] = {}

    def of(self, nodes: Iterable[Node]) -> tuple[Node, ...]:
        """The nodes without what closes them temporarily."""
        self._known = {node.metadata.name: self._made(node) for node in nodes}
        return tuple(made for _, made in self._known.values())

    def _made(self, node: Node) -> tuple[Node, Node]:
        known = self._known.get(node.metadata.name)
        return known if known is not None and known[0] is node else (node, _steady(node))


def _steady(node: Node) -> Node:
    """A node without what closes it temporarily; its availability accounts for that instead."""
    taints = tuple(t for t in node.spec.taints if not t.key.startswith("node.kubernetes.io/"))
    if len(taints) == len(node.spec.taints) and not node.spec.unschedulable:
        return node
    return msgspec.structs.replace(
        node, spec=msgspec.structs.replace(node.spec, unschedulable=False, taints=taints)
    )
