"""Find the ProvisioningRequests that are no longer needed: met, failed or overdue.

Which nodes came for which request is known by when they came. So one stays while its nodes could be
taken for those of another, which was made before they came and whose own are still to come.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.nodes.orders import Stage
from plimsoll.observe.nodes.provisioning_requests import NodeRequest
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.future_nodes import longest_wait


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Remove a request; nodes that came for it stay."""

    request: NodeRequest
    pool: GPUPool


def withdrawals(snapshot: Snapshot) -> Iterator[Withdraw]:
    """The requests that can go now."""
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    awaited = [r for r in snapshot.requests if _is_awaited(r, pools[r.pool], snapshot.now)]
    for request in snapshot.requests:
        done = request not in awaited and not request.leaving
        if done and not _could_be_confused(request, awaited):
            yield Withdraw(request, pools[request.pool])


def why_unmet(request: NodeRequest) -> str:
    """Why no more nodes are expected for a request."""
    if request.stage is Stage.FAILED:
        return request.message
    if request.stage is Stage.SENT:
        return "cluster-autoscaler has not accepted it in time"
    return f"of its {request.count} nodes only {len(request.nodes)} have come in time"


def _is_awaited(request: NodeRequest, pool: GPUPool, now: datetime) -> bool:
    terms = pool.spec.provisioning
    if terms is None or not request.is_open:
        return False
    return now - request.since <= longest_wait(request.stage, terms)


def _could_be_confused(request: NodeRequest, awaited: Iterable[NodeRequest]) -> bool:
    """Whether a request's nodes would seem to be those of another one if it were gone."""
    return any(
        each.pool == request.pool and each.since <= node.since
        for each in awaited
        for node in request.nodes
    )
