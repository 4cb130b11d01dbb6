"""The ways in which a gang can be placed at its least size, in the order to try them.

The GPU types that it can run on come by what it yields there less what that costs. Among equal ones
the first is that on which the pods to come lose least.
"""

from collections.abc import Callable, Collection, Iterator
from itertools import groupby

from plimsoll_placement.model import GpuType, Job, Role
from plimsoll_placement.placing.place import Request, loss_alone
from plimsoll_placement.score.worth import WHOLE_PERCENT, crossing_percent, price_key
from plimsoll_placement.state.ledger import Ledger


def requests(
    ledger: Ledger, job: Job, may_fit: Callable[[Request], bool] = lambda _: True
) -> Iterator[Request]:
    """A gang's requests on each available type, best first; none for which it is no use to ask."""
    for _, equal in groupby(_ways(ledger, job, may_fit), key=lambda way: way[0]):
        found = [request for _, request in equal]
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
    key = "price", price_key(job, role), gpu_type, pods, role.shape, role.eligible, spot
    known = ledger.numbers.get(key)
    if known is None:
        rooms = ((each, ledger.room(each, role, spot=spot)) for each in ledger.pools_of(gpu_type))
        found = ledger.prices.of_pods(job, role, pods, rooms)
        known = ledger.numbers[key] = least * pods if found is None else found
    return known


def counts_alike(ledger: Ledger, job: Job, one: GpuType, other: GpuType) -> bool:
    """Whether two types are the same to all of a job's queues."""
    if one == other:
        return True
    problem = ledger.problem
    queues = (problem.queue_by_name[name] for name in problem.queue_chain.get(job.queue, ()))
    shares = (share for each in queues for share in (each.guaranteed, each.limit, each.fair))
    return not any(one in share or other in share for share in shares)


def _ways(
    ledger: Ledger, job: Job, may_fit: Callable[[Request], bool]
) -> list[tuple[int, Request]]:
    """A gang's requests, each with its loss, best first."""
    found = [each for each in _in_and_across(ledger, job) if may_fit(each[1])]
    losses = _losses(ledger, job, {request.gpu_type for _, request in found})
    ways = [(losses[request.gpu_type] + lost, request) for lost, request in found]
    return sorted(ways, key=lambda way: (way[0], way[1].gpu_type, way[1].inside))


def _in_and_across(ledger: Ledger, job: Job) -> Iterator[tuple[int, Request]]:
    """A gang's requests in one preferred domain and across, and what it loses by crossing.

    The two are told apart only where that changes which type is best.
    """
    role = job.roles[0]
    replicas = tuple(range(role.least))
    crossing = job.preferred_level is not None and role.least * role.pods_per_replica > 1
    kinds = [kind for kind in role.yields if kind in ledger.device_pools]
    for kind in kinds:
        percent = crossing_percent(ledger.problem, job, kind) if crossing else 0
        if percent and len(kinds) > 1:
            yield 0, Request(job, role, kind, replicas, inside=True)
        lost = _second(ledger, job) * role.yields[kind][0] * percent // WHOLE_PERCENT
        yield lost, Request(job, role, kind, replicas)


def _second(ledger: Ledger, job: Job) -> int:
    """What one useful milli-GPU of a job is worth over the horizon."""
    problem = ledger.problem
    return problem.priority_weight[job.priority] * problem.weights.horizon_seconds


def _losses(ledger: Ledger, job: Job, kinds: Collection[GpuType]) -> dict[GpuType, int]:
    """On each of the types, what a gang's least count costs, less what it yields."""
    role, second = job.roles[0], _second(ledger, job)
    pods = role.pods_per_replica * max(role.least, 1)
    return {
        kind: price_of(ledger, job, role, kind, pods) - second * role.yields[kind][0]
        for kind in kinds
    }
