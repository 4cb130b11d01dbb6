"""The nodes of a cluster as they are without anything that runs, and what their GPUs are called."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import msgspec

from plimsoll.errors import BadInput
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import NodeView
from plimsoll.observe.views.pools import gpu_type_of, pool_of
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import READY

_KEPT = frozenset({"name", "labels", "annotations"})
"""What of a node's metadata its user wrote."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Nodes by name, the GPU type of each, and by type the GPUs of the node that has fewest."""

    nodes: Mapping[str, Raw]
    types: Mapping[str, str]
    gpus_per_node: Mapping[str, int]


def fleet(objects: Objects) -> Fleet:
    """The nodes with whole GPUs of one type each. Raises BadInput if there are none."""
    empty = replace(objects, pods=())
    snapshot = Observer().snapshot(empty, datetime.now(UTC))
    types: dict[str, str] = {}
    least: dict[str, int] = {}
    for view in snapshot.nodes:
        offer = next((each for each in view.offers if each.share_milli == WHOLE_GPU_MILLI), None)
        if offer is not None and len(view.offers) == 1:
            types[view.name] = gpu_type = gpu_type_of(offer, view, pool_of(view, snapshot.pools))
            least[gpu_type] = min(least.get(gpu_type, offer.count), offer.count)
    if not types:
        raise BadInput(["no node has whole GPUs: add nodes with --cluster"])
    nodes = {view.name: _raw(view) for view in snapshot.nodes if view.name in types}
    return Fleet(nodes, types, least)


def _raw(view: NodeView) -> Raw:
    """A node as it is created; one that says nothing of its health is ready."""
    raw = msgspec.to_builtins(view.node)
    status = raw.get("status", {})
    conditions = status.get("conditions") or [{"type": READY, "status": "True"}]
    return {
        **raw,
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            key: value for key, value in raw["metadata"].items() if key in _KEPT and value
        },
        "status": {**status, "conditions": conditions},
    }
