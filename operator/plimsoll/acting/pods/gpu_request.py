"""Turn a plan's assignments into a placement in the status, and that into places for pods."""

from collections import Counter
from collections.abc import Iterable, Sequence

from plimsoll.acting.pods.manifest import (
    PodPlacement,
    milli_gpus,
    shared_weights,
    template_of,
)
from plimsoll.acting.pods.occupancy import Need, need
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.kinds import Job
from plimsoll.api.parts.placement import Assignment
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.observe.views.pools import gpu_type_of, pool_of
from plimsoll.planning.cluster.pod_requests import pod_shape
from plimsoll.planning.plan.decisions import nodes_text
from plimsoll.planning.serving.size_groups import whole_role
from plimsoll_placement.model import WHOLE_GPU_MILLI, Assignments


def assignments(snapshot: Snapshot, planned: Assignments, revision: int) -> tuple[Assignment, ...]:
    """A plan's assignments as the status holds them, sorted by role and replica."""
    found = (
        Assignment(
            role=role,
            replica=each.replica,
            nodes=tuple(each.nodes),
            pool=pool_name(snapshot, each.nodes[0]),
            accelerator_type=each.gpu_type,
            revision=revision,
            size_group=group or None,
        )
        for each in planned
        for role, group in [whole_role(each.role)]
    )
    return tuple(sorted(found, key=lambda each: (each.role, each.replica)))


def pool_name(snapshot: Snapshot, node: str) -> str:
    """The name of the pool that a node belongs to; "" if there is none."""
    view = snapshot.node_by_name.get(node)
    pool = pool_of(view, snapshot.pools) if view else None
    return pool.metadata.name if pool else ""


def pod_placements(
    snapshot: Snapshot, job: Job, assignment: Assignment
) -> tuple[PodPlacement, ...] | None:
    """The places of a replica's pods; None if a node is gone or no longer offers such a GPU."""
    placements: list[PodPlacement] = []
    milli = milli_gpus(job, assignment.role)
    for rank, node in enumerate(assignment.nodes):
        view = snapshot.node_by_name.get(node)
        gpus = _gpu_request(snapshot, view, assignment, milli) if view else None
        if gpus is None:
            return None
        place = (assignment.role, assignment.replica, rank, assignment.revision, node)
        placements.append(
            PodPlacement(
                *place,
                *gpus,
                _autoscaled(snapshot.pool_by_node.get(node)),
                _is_consolidated(snapshot.node_by_name.get(node)),
            )
        )
    return tuple(placements)


def _autoscaled(pool: GPUPool | None) -> tuple[str, str] | None:
    """The name and the provisioning class of a pool whose nodes cluster-autoscaler makes."""
    terms = None if pool is None else pool.spec.provisioning
    request = None if terms is None else terms.provisioning_request
    return (pool.metadata.name, request.class_name) if pool and request else None


def _is_consolidated(node: NodeView | None) -> bool:
    """Whether a node is of a NodePool, whose pods Karpenter may move whatever binds them."""
    return node is not None and "karpenter.sh/nodepool" in node.labels


def needs_of(job: Job, placements: Iterable[PodPlacement]) -> list[Need]:
    """What the pods in these places take of their nodes."""
    placements = tuple(placements)
    roles = {each.role for each in placements}
    shapes = {role: pod_shape(template_of(job, role), 0, "Mixed") for role in roles}
    return [need(each, shapes[each.role], shared_weights(job, each.role)) for each in placements]


def nodes_summary(placed: Sequence[Assignment]) -> str:
    """The nodes in short, for people."""
    return nodes_text(Counter(name for each in placed for name in each.nodes))


def accelerators_summary(placed: Iterable[Assignment]) -> str:
    """The GPU types in short, for people."""
    return ", ".join(sorted({each.accelerator_type for each in placed}))


def _gpu_request(
    snapshot: Snapshot, node: NodeView, assignment: Assignment, milli: int
) -> tuple[str, int] | None:
    """The resource by which a node offers that much of a GPU, and how many units of it.

    None of any where the pod needs no GPU.
    """
    if not milli:
        return "", 0
    pool = pool_of(node, snapshot.pools)
    for offer in node.offers:
        if gpu_type_of(offer, node, pool) != assignment.accelerator_type:
            continue
        if offer.share_milli == WHOLE_GPU_MILLI and milli % WHOLE_GPU_MILLI == 0:
            return offer.resource, milli // WHOLE_GPU_MILLI
        if offer.share_milli < WHOLE_GPU_MILLI and milli <= offer.share_milli:
            return offer.resource, 1
    return None
