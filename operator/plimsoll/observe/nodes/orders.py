"""The nodes that Plimsoll has ordered, by the NodeClaims that its GPUPools own."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import KubeObject, Pod
from plimsoll.kube.objects.workload_parts import condition_of

_COME_WITH_THE_NODE: Final = frozenset({"DaemonSet", "Node"})
_OVER: Final = frozenset({"Succeeded", "Failed"})


class Way(StrEnum):
    """By which kind of object nodes are ordered."""

    NODE_CLAIM = "NodeClaim"
    PROVISIONING_REQUEST = "ProvisioningRequest"


class Stage(Enum):
    """How far an order has come.

    SENT: nobody has accepted it. EXPIRED: nothing is reserved for it any more. FAILED: its nodes
    cannot be had.
    """

    SENT = 1
    ACCEPTED = 2
    EXPIRED = 3
    FAILED = 4


@dataclass(frozen=True, slots=True)
class Order:
    """A node that was ordered for a pool.

    `node` is its name once it has registered, "" until then. `arrived`: it has all its GPUs, and
    `arrival` is when that was so first.
    `leaving`: it is being given back. `occupied`: pods run there that did not come with the node.
    `last_pod_event`: when a pod last came there or left, as far as that is known.
    `number` counts the nodes that were ordered together, under one name.
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
    way: Way = Way.NODE_CLAIM
    stage: Stage = Stage.ACCEPTED
    number: int = 0
    last_pod_event: datetime | None = None


def orders_of(
    claims: Iterable[NodeClaim], pools: Iterable[GPUPool], pods: Iterable[Pod]
) -> tuple[Order, ...]:
    """The orders by name; NodeClaims that belong to no GPUPool are left out."""
    names = {pool.metadata.uid: pool.metadata.name for pool in pools}
    owned = [(claim, pool) for claim in claims if (pool := pool_of(claim, names)) is not None]
    nodes = {claim.status.node_name for claim, _ in owned}
    busy = occupied(nodes, pods)
    found = (_order(claim, pool, busy) for claim, pool in owned)
    return tuple(sorted(found, key=lambda order: order.name))


def occupied(nodes: Container[str], pods: Iterable[Pod]) -> set[str]:
    """Those of the nodes on which pods run that did not come with them."""
    return {pod.spec.node_name for pod in pods if pod.spec.node_name in nodes and _stays(pod)}


def pool_of(item: KubeObject, names: Mapping[str, str]) -> str | None:
    """The pool that owns what orders nodes, by the names of pools by uid; None if none does."""
    owner = item.metadata.controller
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
        last_pod_event=status.last_pod_event_time,
    )


def _stays(pod: Pod) -> bool:
    owner = pod.metadata.controller
    return pod.status.phase not in _OVER and (
        owner is None or owner.kind not in _COME_WITH_THE_NODE
    )
