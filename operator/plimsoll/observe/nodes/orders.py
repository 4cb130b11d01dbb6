"""The nodes that Plimsoll has ordered, by the NodeClaims that its GPUPools own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import Pod
from plimsoll.kube.objects.workload_parts import condition_of

_COME_WITH_THE_NODE: Final = frozenset({"DaemonSet", "Node"})
_OVER: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Order:
    """A node that was ordered for a pool.

    `node` is its name once it has registered, "" until then. `arrived`: it has all its GPUs, and
    `arrival` is when that was so first.
    `leaving`: it is being given back. `occupied`: pods run there that did not come with the node.
    """

    name: str
    uid: str
    pool: str
    node: str
    since: datetime | None
    arrived: bool
    leaving: bool
    occupied: bool = False
    arrival: datetime | None = None


def orders_of(
    claims: Iterable[NodeClaim], pools: Iterable[GPUPool], pods: Iterable[Pod]
) -> tuple[Order, ...]:
    """The orders by name; NodeClaims that belong to no GPUPool are left out."""
    names = {pool.metadata.uid: pool.metadata.name for pool in pools}
    owned = [(claim, pool) for claim in claims if (pool := _pool_of(claim, names)) is not None]
    nodes = {claim.status.node_name for claim, _ in owned}
    busy = {pod.spec.node_name for pod in pods if pod.spec.node_name in nodes and _stays(pod)}
    found = (_order(claim, pool, busy) for claim, pool in owned)
    return tuple(sorted(found, key=lambda order: order.name))


def _pool_of(claim: NodeClaim, names: Mapping[str, str]) -> str | None:
    owner = claim.metadata.controller
    return None if owner is None else names.get(owner.uid)


def _order(claim: NodeClaim, pool: str, busy: set[str]) -> Order:
    meta, status = claim.metadata, claim.status
    ready = condition_of(status.conditions, "Initialized")
    return Order(
        name=meta.name,
        uid=meta.uid,
        pool=pool,
        node=status.node_name,
        since=meta.creation_timestamp,
        arrived=ready is not None,
        leaving=meta.deletion_timestamp is not None,
        occupied=status.node_name in busy,
        arrival=None if ready is None else ready.last_transition_time,
    )


def _stays(pod: Pod) -> bool:
    owner = pod.metadata.controller
    return pod.status.phase not in _OVER and (
        owner is None or owner.kind not in _COME_WITH_THE_NODE
    )
