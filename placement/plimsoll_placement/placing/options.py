"""The ways in which a gang can be placed at its least size, in the order to try them.

The GPU types that it can run on come by what it yields there less what that costs. Among equal ones
the first is that on which the pods to come lose least.
"""

from collections.abc import Iterator
from itertools import groupby

from plimsoll_placement.model import GpuType, Job, Role
from plimsoll_placement.placing.place import Request, loss_alone
from plimsoll_placement.score.worth import WHOLE_PERCENT, crossing_percent
from plimsoll_placement.state.ledger import Ledger


def requests(ledger: Ledger, job: Job) -> Iterator[Request]:
    """A gang's requests on each available type, best first."""
    role = job.roles[0]
    replicas = tuple(range(role.least))
    for _, equal in groupby(_ways(ledger, job, role), key=lambda way: way[0]):
        found = [Request(job, role, kind, replicas, inside) for _, kind, inside in equal]
        if len(found) > 1:
            found.sort(key=lambda request: loss_alone(ledger, request))
        yield from found


def price_of(ledger: Ledger, job: Job, role: Role, gpu_type: GpuType, pods: int) -> int:
    """What so many pods cost on the cheapest nodes of a type with room, or without it if need be.

    The cheapest of all may be full, or none that the pods may be on.
    """
    least, most = ledger.prices.range(job, role, gpu_type)
    if least == most:
        return least * pods
    spot = job.spot_percent > 0
    rooms = ((each, ledger.room(each, role, spot=spot)) for each in ledger.pools_of(gpu_type))
    found = ledger.prices.of_pods(job, role, pods, rooms)
    return least * pods if found is None else found


def counts_alike(ledger: Ledger, job: Job, one: GpuType, other: GpuType) -> bool:
    """Whether two types are the same to all of a job's queues."""
    if one == other:
        return True
    problem = ledger.problem
    queues = (problem.queue_by_name[name] for name in problem.queue_chain.get(job.queue, ()))
    shares = (share for each in queues for share in (each.guaranteed, each.limit, each.fair))
    return not any(one in share or other in share for share in shares)


def _ways(ledger: Ledger, job: Job, role: Role) -> list[tuple[int, GpuType, bool]]:
    """A gang's options, in one preferred domain and across, each with its loss; best first.

    The two are told apart only where that changes which type is best.
    """
    losses = _losses(ledger, job, role)
    crossing = job.preferred_level is not None and role.least * role.pods_per_replica > 1
    ways: list[tuple[int, GpuType, bool]] = []
    for gpu_type, loss in losses.items():
        percent = crossing_percent(ledger.problem, job, gpu_type) if crossing else 0
        if percent and len(losses) > 1:
            ways.append((loss, gpu_type, True))
        lost = _second(ledger, job) * role.yields[gpu_type][0] * percent // WHOLE_PERCENT
        ways.append((loss + lost, gpu_type, False))
    return sorted(ways)


def _second(ledger: Ledger, job: Job) -> int:
    """What one useful milli-GPU of a job is worth over the horizon."""
    problem = ledger.problem
    return problem.priority_weight[job.priority] * problem.weights.horizon_seconds


def _losses(ledger: Ledger, job: Job, role: Role) -> dict[GpuType, int]:
    """On each available type, what a role's least count costs, less what it yields."""
    second, pods = _second(ledger, job), role.pods_per_replica * max(role.least, 1)
    return {
        kind: price_of(ledger, job, role, kind, pods) - second * role.yields[kind][0]
        for kind in role.yields
        if kind in ledger.device_pools
    }
