"""How much useful work a dollar buys where nodes can be bought.

On nodes of one's own a dollar weighs what the policy says, for they are paid for. Where nodes can
be bought, whatever one costs could be spent on another instead. So a plan that pays more for useful
work than it costs where it is cheapest must have it sooner for that, and how much more is what the
policy then decides.
"""

from collections.abc import Iterable, Iterator
from statistics import median
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.snapshot import Snapshot
from plimsoll_placement.model import GpuType, Job

HOUR_SECONDS: Final = 3600


def gpu_seconds_bought(jobs: Iterable[Job], snapshot: Snapshot) -> float | None:
    """The useful GPU-seconds that a dollar buys for a gang at its least size, by the median.

    None if no gang is there, or nothing that any can run on can be bought.
    """
    pools = [pool for pool in snapshot.pools if _can_be_had(pool, snapshot)]
    if not pools:
        return None
    found = [best for job in jobs if job.gang if (best := max(_bought(job, pools), default=None))]
    return median(found) if found else None


def _bought(job: Job, pools: Iterable[GPUPool]) -> Iterator[float]:
    role = job.roles[0]
    asked = role.least_gpu_milli
    for pool in pools:
        spec = pool.spec
        yields = role.yields.get(GpuType(spec.gpu_type or ""))
        if yields and asked and (job.spot_percent or spec.capacity_type != "Spot"):
            yield HOUR_SECONDS * yields[0] / asked / float(spec.price_per_gpu_hour)


def _can_be_had(pool: GPUPool, snapshot: Snapshot) -> bool:
    """Whether another node of a pool could be bought now, as far as is known."""
    terms, said = pool.spec.provisioning, pool.status.provisioning
    if terms is None or not pool.spec.price_per_gpu_hour:
        return False
    if terms.node_claim is None and terms.provisioning_request is None:
        return False
    if said is not None and said.retry_time is not None and said.retry_time > snapshot.now:
        return False
    name = pool.metadata.name
    coming = sum(o.pool == name and o.node not in snapshot.node_by_name for o in snapshot.orders)
    return len(snapshot.nodes_by_pool[name]) + coming < terms.max
