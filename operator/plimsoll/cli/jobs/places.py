"""Where a job runs by its status, and what that costs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.parts.placement import Assignment
from plimsoll.cli.output.report import Place, gpus
from plimsoll.observe.measured.prices import NodePrices, priced

_MILLI: Final = 1000
_DIGITS: Final = 4


def assignments_of(job: Job) -> Sequence[Assignment]:
    """The places of all its replicas; none while it waits."""
    placement = job.status.placement
    return placement.assignments if placement is not None else ()


def places_of(job: Job) -> tuple[Place, ...]:
    """Where a job runs, by role and GPU type."""
    nodes: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for each in assignments_of(job):
        for node in each.nodes:
            nodes[each.role, each.accelerator_type][node] += milli_gpus(job, each.role)
    return tuple(
        Place(role, kind, gpus(sum(milli.values())), {name: gpus(milli[name]) for name in milli})
        for (role, kind), milli in nodes.items()
    )


def dollars_per_hour(job: Job, pools: Iterable[GPUPool]) -> float | None:
    """What its GPUs cost an hour; None if that is not known, or it has none."""
    if isinstance(job, InferenceJob):
        cost = job.status.cost_per_hour
        return None if cost is None else round(float(cost), _DIGITS)
    prices = _prices(pools)
    costs = [
        prices[each.pool] * milli_gpus(job, each.role) * len(each.nodes) / _MILLI
        for each in assignments_of(job)
        if prices.get(each.pool)
    ]
    return round(float(sum(costs)), _DIGITS) if costs else None


def _prices(pools: Iterable[GPUPool]) -> Mapping[str, Decimal]:
    known = priced(pools, NodePrices(complete=False))
    return {pool.metadata.name: pool.spec.price_per_gpu_hour for pool in known}


def milli_gpus(job: Job, role: str) -> int:
    """GPUs of each pod of a role, in thousandths; 0 for a target's, whose pods are not ours."""
    return job.spec.milli_gpus_by_role.get(role, 0)
