"""Scores of all nodes for each kind of pod, recomputed only for nodes that changed.

An arrival changes one node, so nearly all of a kind's scores still hold when its next pod comes.
How a node is scored is a function that the policy supplies.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Floats, Ints, Placement


class Scores(NamedTuple):
    """How good each of some nodes is for a pod, and the device for it if the pod shares one."""

    value: Floats
    device: Ints


FEW = 64
"""With more nodes than this it pays to look for nodes in the same state first."""

ScoreNodes = Callable[[PodKind, Ints], Scores]


@dataclass(slots=True)
class _Row:
    """The scores of all nodes for one kind of pod; -inf where it does not fit."""

    value: Floats
    device: Ints
    seen_changes: int


class Scoreboard:
    """Finds the node with the highest score, the first of equals.

    `score` is called only with nodes on which the pod fits, and must depend on nothing but the pod
    and the node's state; call `forget` when it has come to depend on something else.
    """

    def __init__(self, cluster: Cluster, score: ScoreNodes) -> None:
        self._cluster = cluster
        self._score = score
        self._rows: dict[PodKind, _Row] = {}

    def forget(self) -> None:
        """Recompute every score the next time it is needed."""
        self._rows.clear()

    def best(self, pod: PodKind, prices: Floats | None = None) -> Placement | None:
        """The best place, after deducting each node's price; None if the pod fits nowhere."""
        row = self._row(pod)
        value = row.value if prices is None else row.value - prices
        node = int(value.argmax())
        return self._place(pod, node, row) if value[node] > -np.inf else None

    def highest(self, pod: PodKind, prices: Floats | None = None) -> float:
        """The score of that place; -inf if the pod fits nowhere."""
        value = self._row(pod).value
        return float((value if prices is None else value - prices).max())

    def _place(self, pod: PodKind, node: int, row: _Row) -> Placement:
        if pod.shared:
            return Placement(node, (int(row.device[node]),))
        return Placement(node, self._cluster.whole_devices(node, pod.gpus))

    def _row(self, pod: PodKind) -> _Row:
        changes = self._cluster.changes
        row = self._rows.get(pod)
        if row is None:
            row = self._rows[pod] = _blank_row(len(self._cluster))
            self._refresh(pod, row, np.arange(len(self._cluster)))
        elif row.seen_changes < len(changes):
            changed = set(changes[row.seen_changes :])
            self._refresh(pod, row, np.fromiter(changed, dtype=np.int64, count=len(changed)))
        row.seen_changes = len(changes)
        return row

    def _refresh(self, pod: PodKind, row: _Row, nodes: Ints) -> None:
        row.value[nodes] = -np.inf
        fitting = nodes[self._cluster.fits(pod, nodes)]
        if len(fitting) > FEW:
            likeness = self._cluster.likeness[fitting]
            _, one_of_each, same = np.unique(likeness, return_index=True, return_inverse=True)
            scores = self._score(pod, fitting[one_of_each])
            row.value[fitting], row.device[fitting] = scores.value[same], scores.device[same]
        elif len(fitting):
            row.value[fitting], row.device[fitting] = self._score(pod, fitting)


def _blank_row(nodes: int) -> _Row:
    return _Row(np.full(nodes, -np.inf), np.zeros(nodes, dtype=np.int64), 0)
