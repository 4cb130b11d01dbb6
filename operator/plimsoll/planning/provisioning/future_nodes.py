"""The nodes that pools could have: those that are on their way, and those that could be bought."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from plimsoll.api.gpu_pool import MOST_RESOURCES, GPUPool, Provisioning
from plimsoll.kube.objects.objects import Labels, Node, NodeMeta, NodeSpec, NodeStatus
from plimsoll.observe.nodes.notices import Availability
from plimsoll.observe.nodes.orders import Order, Stage, Way
from plimsoll.observe.nodes.pool_templates import (
    expected_labels,
    future_taints,
    gpu_resource,
    product_label,
    way_of,
)
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.observe.views.nodes import NOTHING, node_offer, node_view
from plimsoll.planning.provisioning.start_times import start_time

MOST_OFFERED: Final = 256
"""How many nodes of a pool may be bought by one plan."""
LONGEST_WAIT: Final = timedelta(minutes=20)
"""How long an order may take whatever its pool says: Karpenter gives up one that has not registered
after a quarter of an hour."""
LONGEST_UNHEARD: Final = timedelta(minutes=5)
"""How long cluster-autoscaler may take to accept a request: it looks every few seconds."""
_OF_ONE_NODE: Final = frozenset({"kubernetes.io/hostname"})
_MANY_PODS: Final = 110
_MOST_DOLLARS: Final = Decimal(10**12)
"""Sums of larger prices could not be written with their digits."""
_UNKNOWN_CPU: Final = "1000000"
_UNKNOWN_MEMORY: Final = "1Pi"
_STORAGE: Final = "ephemeral-storage"


@dataclass(frozen=True, slots=True)
class FutureNode:
    """A node that is not there yet. `order` is None for one that could be bought.

    `start_time`: how long it usually takes from its order until pods can start there.
    """

    view: NodeView
    pool: GPUPool
    order: Order | None = None
    start_time: timedelta = timedelta(0)

    @property
    def name(self) -> str:
        """What it is called in plans; no node can have such a name."""
        return self.view.name


def future_nodes(
    snapshot: Snapshot, blocked: AbstractSet[str], *, to_buy: bool = True
) -> tuple[FutureNode, ...]:
    """Of each pool that may grow, the nodes on their way, and those that could be bought.

    None of `blocked` pools, which cannot be had now, can be bought; and if they are `to_buy`, none
    of those that do not say how.
    """
    return tuple(
        node
        for pool in snapshot.pools
        if pool.spec.provisioning is not None and (way_of(pool) is not None or not to_buy)
        for node in _of_pool(pool, pool.spec.provisioning, snapshot, blocked)
    )


def _of_pool(
    pool: GPUPool, terms: Provisioning, snapshot: Snapshot, blocked: AbstractSet[str]
) -> Iterator[FutureNode]:
    like, takes = _view(pool, terms, snapshot), start_time(pool, snapshot)
    for order in coming_orders(pool, snapshot):
        number = f"{order.number}+" if order.number else ""
        yield FutureNode(_named(f"{order.name}+{number}", like), pool, order, takes)
    room = min(MOST_OFFERED, room_for_more(pool, snapshot))
    if pool.metadata.name not in blocked:
        for number in range(room):
            view = _named(f"{pool.metadata.name}+{number}", like)
            yield FutureNode(view, pool, start_time=takes)


def coming_orders(pool: GPUPool, snapshot: Snapshot) -> tuple[Order, ...]:
    """The pool's orders whose nodes will still come."""
    return tuple(
        order
        for order in snapshot.orders
        if order.pool == pool.metadata.name
        and not (order.leaving or is_overdue(order, pool, snapshot.now))
        and (_comes_up(order, snapshot.node_by_name) or _lacks_promised(order, pool, snapshot))
    )


def present_nodes(pool: GPUPool, snapshot: Snapshot) -> Sequence[NodeView]:
    """The pool's nodes that are there; one that is still coming up is not yet."""
    coming = snapshot.memo.of(_coming_up, snapshot.orders, snapshot.node_by_name)
    nodes = snapshot.nodes_by_pool[pool.metadata.name]
    return [node for node in nodes if node.name not in coming]


def room_for_more(pool: GPUPool, snapshot: Snapshot) -> int:
    """How many more nodes of the pool may be ordered: those that are still leaving count."""
    terms = pool.spec.provisioning
    there = {node.name for node in snapshot.nodes_by_pool[pool.metadata.name]}
    orders = (each for each in snapshot.orders if each.pool == pool.metadata.name)
    others = sum(each.node not in there for each in orders)
    return 0 if terms is None else max(0, terms.max - len(there) - others)


def _coming_up(orders: Iterable[Order], nodes: Mapping[str, NodeView]) -> frozenset[str]:
    """The names of the nodes that are there and still come up."""
    return frozenset(order.node for order in orders if _comes_up(order, nodes))


def _comes_up(order: Order, nodes: Mapping[str, NodeView]) -> bool:
    """Whether plans cannot use an ordered node yet: it has no GPUs, or takes no pods."""
    node = nodes.get(order.node)
    return node is None or not (order.arrived or (node.offers and node.state.open))


def _lacks_promised(order: Order, pool: GPUPool, snapshot: Snapshot) -> bool:
    """Whether a new node does not have all yet that its pool says: device plugins start late."""
    node, terms = snapshot.node_by_name.get(order.node), pool.spec.provisioning
    if node is None or terms is None or not terms.resources:
        return False
    came = node.node.metadata.creation_timestamp
    is_new = came is not None and snapshot.now - came < LONGEST_WAIT
    return is_new and not terms.resources.keys() <= dict(node.others).keys()


def is_overdue(order: Order, pool: GPUPool, now: datetime) -> bool:
    """Whether a node should have come long ago."""
    terms = pool.spec.provisioning
    if order.since is None or order.arrived or terms is None:
        return False
    return now - order.since > longest_wait(order.stage, terms)


def longest_wait(stage: Stage, terms: Provisioning) -> timedelta:
    """How long after its order a node is waited for that has come so far."""
    match stage:
        case Stage.SENT:
            return LONGEST_UNHEARD
        case Stage.EXPIRED:
            return terms.start_time
        case _:
            return max(LONGEST_WAIT, 3 * terms.start_time)


def hourly_price(pool: GPUPool) -> Decimal:
    """What a node of the pool costs an hour, in the currency of its price; a trillion at most."""
    return min(pool.spec.price_per_gpu_hour * (pool.spec.gpus_per_node or 0), _MOST_DOLLARS)


def is_sold(pool: GPUPool, snapshot: Snapshot) -> bool:
    """Whether nodes can be ordered for a pool in this cluster."""
    match way_of(pool):
        case Way.NODE_CLAIM:
            return snapshot.can_order
        case Way.PROVISIONING_REQUEST:
            return snapshot.can_request
        case None:
            return False


def unsold(snapshot: Snapshot) -> frozenset[str]:
    """The pools that say how nodes are ordered, which cannot be done so in this cluster."""
    said = (pool for pool in snapshot.pools if way_of(pool) is not None)
    return frozenset(pool.metadata.name for pool in said if not is_sold(pool, snapshot))


def seen_amounts(pool: GPUPool, snapshot: Snapshot) -> tuple[Decimal | None, Decimal | None]:
    """The CPUs, and the bytes of memory, that jobs can have of a bought node.

    As seen now, or before by the pool's status; None if that was never seen of such a node.
    """
    empty, said = _empty_node(pool, snapshot), pool.status.provisioning
    if empty is not None:
        return Decimal(empty.cpu_millis) / 1000, Decimal(empty.memory_bytes)
    if said is None or pool.status.observed_generation != pool.metadata.generation:
        return None, None
    return said.cpu, said.memory


def seen_resources(pool: GPUPool, snapshot: Snapshot) -> Mapping[str, Decimal]:
    """The other resources that jobs can have of a bought node, as seen now or before.

    What a node has nothing of does not count as seen: its device plugin may be restarting.
    """
    empty, said = _empty_node(pool, snapshot), pool.status.provisioning
    is_current = pool.status.observed_generation == pool.metadata.generation
    known = said.resources if said is not None and is_current else {}
    now = {} if empty is None else {name: Decimal(n) for name, n in empty.others_left if n}
    return dict(sorted({**known, **now}.items())[:MOST_RESOURCES])


def _empty_node(pool: GPUPool, snapshot: Snapshot) -> NodeView | None:
    """A bought node on which only its DaemonSets' pods run: it shows what jobs can have."""
    for order in snapshot.orders:
        node = snapshot.node_by_name.get(order.node)
        if order.pool == pool.metadata.name and order.arrived and not order.occupied and node:
            return node
    return None


def _named(name: str, like: NodeView) -> NodeView:
    metadata = msgspec.structs.replace(like.node.metadata, name=name)
    return replace(like, node=msgspec.structs.replace(like.node, metadata=metadata))


def _view(pool: GPUPool, terms: Provisioning, snapshot: Snapshot) -> NodeView:
    """What all nodes to come of a pool are like."""
    present = present_nodes(pool, snapshot)
    offers = [offer for node in present for offer in node.offers]
    resource = next((each.resource for each in offers), gpu_resource(pool))
    promised = pool.spec.gpus_per_node or 0
    # Those that are there may have fewer than was promised.
    gpus = min(promised, max((offer.count for offer in offers), default=promised))
    cpu, memory = _amounts(pool, terms, snapshot, present)
    others = {name: str(n) for name, n in resources_to_come(pool, snapshot).items()}
    plain = {"cpu": cpu, "memory": memory, "pods": str(_MANY_PODS)}
    amounts = {_STORAGE: _UNKNOWN_MEMORY, **others, resource: str(gpus), **plain}
    node = Node(
        metadata=NodeMeta(labels=_labels(pool, present)),
        spec=NodeSpec(taints=future_taints(pool)),
        status=NodeStatus(allocatable=amounts),
    )
    return node_view(node, node_offer(node), NOTHING, Availability(open=True, usable=True))


def _amounts(
    pool: GPUPool, terms: Provisioning, snapshot: Snapshot, present: Iterable[NodeView]
) -> tuple[str, str]:
    """The CPU and memory of a node to come: as seen, as stated, as others there, or plenty.

    What was seen comes first: otherwise a node on which a job does not fit after all would be
    bought for it again and again.
    """
    cpu, memory = seen_amounts(pool, snapshot)
    cpu, memory = cpu or terms.cpu, memory or terms.memory
    wholes = [node_offer(node.node) for node in present]
    if wholes and cpu is None:
        cpu = Decimal(min(each.cpu_millis for each in wholes)) / 1000
    if wholes and memory is None:
        memory = Decimal(min(each.memory_bytes for each in wholes))
    return str(cpu or _UNKNOWN_CPU), str(memory or _UNKNOWN_MEMORY)


def resources_to_come(pool: GPUPool, snapshot: Snapshot) -> Mapping[str, Decimal | int]:
    """The other resources of a pool's nodes to come: as bought ones have, or as stated.

    Others of the pool's nodes show nothing: a cloud attaches some devices only where they are asked
    for, and a node without them would be bought again and again.
    """
    found = Counter[str]()
    for order in snapshot.orders:
        node = snapshot.node_by_name.get(order.node)
        if order.pool == pool.metadata.name and order.arrived and node is not None:
            found |= Counter(dict(node.others_left))
    terms = pool.spec.provisioning
    stated = {} if terms is None else terms.resources
    return {**stated, **found, **seen_resources(pool, snapshot)}


def _labels(pool: GPUPool, present: Sequence[NodeView]) -> Labels:
    """What the pool's nodes have in common, and what is said of those to come."""
    common = _common([node.labels for node in present])
    return {**product_label(pool), **common, **expected_labels(pool)}


def _common(labels: Sequence[Mapping[str, str]]) -> dict[str, str]:
    if not labels:
        return {}
    first, *others = labels
    return {
        key: value
        for key, value in first.items()
        if key not in _OF_ONE_NODE and all(each.get(key) == value for each in others)
    }
