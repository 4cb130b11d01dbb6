"""What has been ordered for pools, one snapshot after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import Pod
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.observe.eligibility.selection import Selectors
from plimsoll.observe.kept import Kept
from plimsoll.observe.nodes.orders import Order, orders_of
from plimsoll.observe.nodes.provisioning_requests import (
    NodeRequest,
    PoolNode,
    orders_by_requests,
    requests_of,
)
from plimsoll.observe.snapshot import NodeView

_Objects = tuple[Sequence[NodeClaim], Sequence[ProvisioningRequest]]


@dataclass(frozen=True, slots=True)
class Ordered:
    """Each node that was ordered, and the requests by which several were at once."""

    orders: tuple[Order, ...] = ()
    requests: tuple[NodeRequest, ...] = ()


class OrderedNodes:
    """Works out what has been ordered, and remembers it."""

    def __init__(self) -> None:
        self._known = Kept[Ordered]()

    def of(
        self,
        objects: _Objects,
        pools: Sequence[GPUPool],
        nodes: Sequence[NodeView],
        pods: Sequence[Pod],
    ) -> Ordered:
        """What has been ordered by these objects for these pools."""
        if not any(objects) and not any(_is_autoscaled(pool) for pool in pools):
            return Ordered()
        return self._known.of(
            lambda: _ordered(objects, pools, nodes, pods), *objects, pools, nodes, pods
        )


def _ordered(
    objects: _Objects, pools: Sequence[GPUPool], nodes: Sequence[NodeView], pods: Sequence[Pod]
) -> Ordered:
    claims, asked = objects
    claimed = orders_of(claims, pools, pods)
    others = _pool_nodes(pools, nodes, {order.node for order in claimed})
    requests = requests_of(asked, pools, others)
    autoscaled = {pool.metadata.name for pool in pools if _is_autoscaled(pool)}
    requested = orders_by_requests(requests, others, pods, autoscaled)
    found = sorted((*claimed, *requested), key=lambda order: (order.name, order.number))
    return Ordered(tuple(found), requests)


def _is_autoscaled(pool: GPUPool) -> bool:
    terms = pool.spec.provisioning
    return terms is not None and terms.provisioning_request is not None


def _pool_nodes(
    pools: Sequence[GPUPool], nodes: Sequence[NodeView], claimed: set[str]
) -> tuple[PoolNode, ...]:
    """The nodes of pools that were not ordered by claims."""
    selectors = Selectors((pool.metadata.name, pool.spec.node_selector) for pool in pools)
    return tuple(
        PoolNode(view.name, found[0], since, ready=bool(view.offers) and view.state.open)
        for view in nodes
        if view.name not in claimed
        and (since := view.node.metadata.creation_timestamp) is not None
        and (found := selectors.matching(view.labels))
    )
