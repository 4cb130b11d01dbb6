"""The nodes that Plimsoll has ordered by ProvisioningRequests, which its GPUPools own.

Cluster-autoscaler does not say which nodes it made for which request. So the nodes of a pool that
came since a request was made are its nodes, those of the oldest request first.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.kube.objects.objects import Pod
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.objects.workload_parts import WorkloadCondition, condition_of
from plimsoll.observe.nodes.orders import Order, Stage, Way, occupied, pool_of

MOST_ASKED: Final = 4096
"""How many nodes of a request count: each is looked at by itself."""
_NOT_FOUND: Final = "CapacityIsNotFound"
"""Cluster-autoscaler would go on to look for capacity: meanwhile other pools may have some."""
_FAILED: Final = ("Failed", "CapacityRevoked")
_BEGUN: Final = ("Accepted", "Provisioned")
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_EVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PoolNode:
    """A node of a pool, since when it is there, and whether it takes pods and has GPUs."""

    name: str
    pool: str
    since: datetime
    ready: bool


@dataclass(frozen=True, slots=True)
class NodeRequest:
    """Nodes of a pool that were ordered together.

    `nodes`: those of them that have come. `templates`: the names of its PodTemplates. `ended`: when
    it failed, and why by `message`.
    """

    name: str
    uid: str
    namespace: str
    pool: str
    count: int
    since: datetime
    stage: Stage
    leaving: bool
    templates: tuple[str, ...] = ()
    message: str = ""
    ended: datetime = _EVER
    nodes: tuple[PoolNode, ...] = ()

    @property
    def is_met(self) -> bool:
        """Whether all its nodes are there."""
        return len(self.nodes) >= self.count and all(node.ready for node in self.nodes)

    @property
    def is_open(self) -> bool:
        """Whether nodes may still come for it."""
        return not (self.is_met or self.leaving or self.stage is Stage.FAILED)


def requests_of(
    requests: Iterable[ProvisioningRequest], pools: Iterable[GPUPool], nodes: Sequence[PoolNode]
) -> tuple[NodeRequest, ...]:
    """The requests by name; those that belong to no GPUPool are left out."""
    names = {pool.metadata.uid: pool.metadata.name for pool in pools}
    owned = [(each, pool) for each in requests if (pool := pool_of(each, names)) is not None]
    found = sorted((_request(*each) for each in owned), key=lambda each: (each.since, each.name))
    return tuple(sorted(_with_nodes(found, nodes), key=lambda each: each.name))


def _request(request: ProvisioningRequest, pool: str) -> NodeRequest:
    meta, conditions = request.metadata, request.status.conditions
    failure = _failure(conditions)
    return NodeRequest(
        name=meta.name,
        uid=meta.uid,
        namespace=meta.namespace,
        pool=pool,
        count=min(MOST_ASKED, sum(each.count for each in request.spec.pod_sets)),
        since=meta.creation_timestamp or _NEVER,
        stage=_stage(conditions) if failure is None else Stage.FAILED,
        leaving=meta.deletion_timestamp is not None,
        templates=tuple(each.pod_template_ref.name for each in request.spec.pod_sets),
        message="" if failure is None else failure.message,
        ended=_EVER if failure is None else failure.last_transition_time or _EVER,
    )


def _failure(conditions: Iterable[WorkloadCondition]) -> WorkloadCondition | None:
    """The condition that says that nodes cannot be had."""
    for each in conditions:
        if each.type in _FAILED and each.status == "True":
            return each
        if (each.type, each.status, each.reason) == ("Provisioned", "False", _NOT_FOUND):
            return each
    return None


def _stage(conditions: Sequence[WorkloadCondition]) -> Stage:
    if condition_of(conditions, "BookingExpired") is not None:
        return Stage.EXPIRED
    begun = any(condition_of(conditions, kind) is not None for kind in _BEGUN)
    return Stage.ACCEPTED if begun else Stage.SENT


def _with_nodes(
    requests: Iterable[NodeRequest], nodes: Iterable[PoolNode]
) -> Iterator[NodeRequest]:
    """The requests, oldest first, each with its nodes."""
    left = sorted(nodes, key=lambda node: (node.since, node.name))
    for each in requests:
        came = [n for n in left if n.pool == each.pool and each.since <= n.since <= each.ended]
        own = {node.name for node in came[: each.count]}
        left = [node for node in left if node.name not in own]
        yield replace(each, nodes=tuple(came[: each.count]))


def orders_by_requests(
    requests: Iterable[NodeRequest],
    nodes: Iterable[PoolNode],
    pods: Iterable[Pod],
    autoscaled: Container[str],
) -> Iterator[Order]:
    """An order for each node that is to come, and for each that is there of `autoscaled` pools.

    Who had the latter made is not known for long, as requests do not last, and cluster-autoscaler
    removes them all alike once they are idle. So all of them count as ordered.
    """
    nodes = tuple(nodes)
    busy = occupied({node.name for node in nodes}, pods)
    theirs: set[str] = set()
    for request in requests:
        if request.is_met or request.is_open:
            theirs.update(node.name for node in request.nodes)
            nothing = (None,) * (request.count - len(request.nodes))
            for number, node in enumerate((*request.nodes, *nothing)):
                yield _order(request, number, node, busy)
    for node in nodes:
        if node.pool in autoscaled and node.name not in theirs:
            yield _of_node(node, busy)


def _of_node(node: PoolNode, busy: set[str]) -> Order:
    return Order(
        name=node.name,
        uid="",
        pool=node.pool,
        node=node.name,
        since=node.since,
        arrived=True,
        leaving=False,
        occupied=node.name in busy,
        way=Way.PROVISIONING_REQUEST,
    )


def _order(request: NodeRequest, number: int, node: PoolNode | None, busy: set[str]) -> Order:
    return Order(
        name=request.name,
        uid=request.uid,
        pool=request.pool,
        node=node.name if node else "",
        since=request.since,
        arrived=node is not None and node.ready,
        leaving=False,
        occupied=node is not None and node.name in busy,
        way=Way.PROVISIONING_REQUEST,
        stage=request.stage,
        number=number,
    )
