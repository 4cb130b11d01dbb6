"""Views of nodes, one snapshot after the other; what has not changed is the same object."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from plimsoll.kube.objects.objects import Node
from plimsoll.observe.kept import Kept
from plimsoll.observe.nodes.notices import (
    Availability,
    availability,
    is_given_up,
    unready_since,
)
from plimsoll.observe.readable import readable
from plimsoll.observe.snapshot import NodeView
from plimsoll.observe.views.nodes import NOTHING, NodeOffer, NodeOffers, Taken, node_view
from plimsoll.observe.views.silent_gpus import (
    NOTHING_UNSAID,
    Unsaid,
    UnsaidByNode,
    with_unsaid,
)

_SeenNode = tuple[Node, Taken, Availability, NodeView, Unsaid]
"""A node, what others take of it, its availability, its view, and what it does not say."""

_ALL_SAID: UnsaidByNode = {}


class NodeViews:
    """Makes the views, and remembers the last."""

    def __init__(self, offers: NodeOffers) -> None:
        self._offers = offers
        self._known: dict[str, _SeenNode] = {}
        self._views = Kept[tuple[NodeView, ...]]()
        self._unready = Kept[list[datetime]]()
        self._unsaid = _ALL_SAID

    def of(
        self,
        nodes: Sequence[Node],
        taken: Mapping[str, Taken],
        now: datetime,
        unsaid: UnsaidByNode = _ALL_SAID,
    ) -> tuple[NodeView, ...]:
        """The nodes by name, less what unmanaged pods take of each.

        `taken` and `unsaid` are the same objects as long as nothing in them changes.
        """
        unready = self._unready.of(lambda: [*unready_since(nodes)], nodes)
        given_up = [is_given_up(since, now) for since in unready]
        self._unsaid = unsaid
        return self._views.of(
            lambda: self._all(nodes, taken, now), nodes, (taken, unsaid), given_up
        )

    def _all(
        self, nodes: Sequence[Node], taken: Mapping[str, Taken], now: datetime
    ) -> tuple[NodeView, ...]:
        self._forget_others(nodes)
        ordered = sorted(nodes, key=lambda node: node.metadata.name)
        views = (self._view(node, taken.get(node.metadata.name, NOTHING), now) for node in ordered)
        return tuple(view for view in views if view is not None)

    def _view(self, node: Node, taken: Taken, now: datetime) -> NodeView | None:
        """The node's view; the last readable one if it is unreadable now, None if it never was."""
        known = self._known.get(node.metadata.name)
        unsaid = self._unsaid.get(node.metadata.name, NOTHING_UNSAID)
        if known is not None and known[4] == unsaid and _is_as_known(known, node, taken):
            return known[3]
        whole = self._offers.of(node)
        if whole is None:
            return None
        seen = readable(node, lambda: self._seen(node, whole, unsaid, taken, now))
        if seen is None:
            return known[3] if known is not None else None
        self._known[node.metadata.name] = seen
        return seen[3]

    def _seen(
        self, node: Node, whole: NodeOffer, unsaid: Unsaid, taken: Taken, now: datetime
    ) -> _SeenNode:
        known, state = self._known.get(node.metadata.name), availability(node, now=now)
        is_same = known is not None and known[0] is node
        if known is not None and is_same and (*known[1:3], known[4]) == (taken, state, unsaid):
            return known
        view = node_view(node, with_unsaid(whole, unsaid), taken, state)
        if known is not None and is_same and known[3] == view:
            view = known[3]
        return node, taken, state, view, unsaid

    def _forget_others(self, nodes: Sequence[Node]) -> None:
        if len(self._known) > len(nodes):
            names = {node.metadata.name for node in nodes}
            self._known = {name: known for name, known in self._known.items() if name in names}


def _is_as_known(known: _SeenNode, node: Node, taken: Taken) -> bool:
    """Whether nothing has changed in a node that was open, which time alone does not change."""
    return known[0] is node and known[2].open and (known[1] is taken or known[1] == taken)
