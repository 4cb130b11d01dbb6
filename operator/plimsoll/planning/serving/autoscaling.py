"""Compute a service's wanted load from its forecast, limited in how fast it may change.

As in the Kubernetes HPA: no more than was forecast throughout the scale-up window, no less than was
forecast at any time in the scale-down window, and no faster than a share per period. Besides the
demand, all inputs are in the job's status.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, Context, Decimal
from typing import Final

from plimsoll.api.inference_job import BucketLoad, InferenceJob, RoleStatus, UnservedLoad
from plimsoll.api.parts.load import Scaling, ScalingRule
from plimsoll.api.parts.roles import Role as RoleSpec
from plimsoll.observe.measured.demand import BucketDemand, RoleDemand, Unserved
from plimsoll.planning.serving.replicas import capacities, one_replica, role_status
from plimsoll.rounding import STEPS_TO_DOUBLE, in_steps

DIGITS = 2
LEAST = 1e-6
"""Less than this is nothing: a quantity has nine decimals."""
MOST = 1e15
"""More than this is capped: no load is as large, and quantities are bounded."""
WHOLE_PERCENT = 100
NOTHING = Decimal(0)
SINGLE_REPLICAS: Final = 64
"""Up to this many, capacity is wanted in whole replicas."""
LEAST_OF_A_REPLICA: Final = 0.01
"""No more is wanted for less of one: a load at the limit would come and go."""
WRITTEN_EVERY: Final = timedelta(hours=1)
"""How often what was unserved is written."""
_DOWN: Final = Context(prec=9, rounding=ROUND_DOWN)
"""Whole replicas, in a quantity's nine digits, must not seem to be more than they are."""


@dataclass(frozen=True, slots=True)
class _Pace:
    """How fast a role's capacity may change.

    `single`: what one more replica carries, if known. `unit`: the same, 0 if several loads share
    replicas, so that each of them need not be whole ones.
    """

    rules: Scaling
    single: float
    unit: float


def scaled_loads(
    job: InferenceJob, role: RoleSpec, demand: RoleDemand, now: datetime
) -> tuple[BucketLoad, ...]:
    """The loads of a role for its status; buckets that are gone have none."""
    status = role_status(job, role)
    single = min(capacities(job, role).values(), default=0.0)
    unit = one_replica(job, role, demand.loads[0].bucket) if len(demand.loads) == 1 else 0.0
    pace = _Pace(job.spec.scaling, single, unit)
    return tuple(_scaled(_before(status, load.bucket), load, pace, now) for load in demand.loads)


def _before(status: RoleStatus | None, bucket: str) -> BucketLoad | None:
    return next((each for each in status.loads if each.bucket == bucket), None) if status else None


def _scaled(
    before: BucketLoad | None, load: BucketDemand, pace: _Pace, now: datetime
) -> BucketLoad:
    if before is None:
        wanted, since = stepped(min(load.worth, MOST), pace.unit), now
    else:
        wanted = _wanted(before, load, pace, now)
        since = before.since if wanted == before.wanted else now
    return BucketLoad(
        bucket=load.bucket,
        observed=shown(load.observed),
        forecast=shown(load.foreseen),
        wanted=wanted,
        since=since.replace(microsecond=0),
        quantile=None if load.quantile is None else shown(load.quantile, digits=3),
        unserved=_unserved(before.unserved if before else None, load.unserved, now),
        size_group=before.size_group if before else None,
    )


def _unserved(
    before: UnservedLoad | None, found: Unserved | None, now: datetime
) -> UnservedLoad | None:
    if found is None or (before is not None and now - before.time < WRITTEN_EVERY):
        return before
    return UnservedLoad(
        percent=shown(WHOLE_PERCENT * found.share, digits=3),
        load=shown(found.load, digits=3),
        seconds=int(found.seconds),
        time=now.replace(microsecond=0),
    )


def _wanted(before: BucketLoad, load: BucketDemand, pace: _Pace, now: datetime) -> Decimal:
    more, less = stepped(load.least_of_late, pace.unit), stepped(load.most_of_late, pace.unit)
    if more > before.wanted:
        return min(more, _limit(before, pace.rules.up, pace.single, now, sign=1))
    if less < before.wanted:
        return max(less, _limit(before, pace.rules.down, pace.single, now, sign=-1))
    return before.wanted


def _limit(
    before: BucketLoad, rule: ScalingRule, one_replica: float, now: datetime, *, sign: int
) -> Decimal:
    """The furthest that the wanted load may go now."""
    if rule.max_percent is None:
        return Decimal("Infinity") * sign
    if now - before.since < rule.period:
        return before.wanted
    share = before.wanted * rule.max_percent / WHOLE_PERCENT
    return max(before.wanted + sign * max(share, Decimal(repr(one_replica))), NOTHING)


def stepped(load: float, unit: float = 0.0) -> Decimal:
    """A load rounded up, so that few measurements trigger a new plan.

    To whole replicas, if one carries `unit` and they are not many; otherwise in steps of about 2 %.
    """
    if load < LEAST:
        return NOTHING
    if math.isinf(load):
        return Decimal("Infinity")
    load = min(load, MOST)
    if unit > 0 and load / unit < SINGLE_REPLICAS + LEAST_OF_A_REPLICA:
        count = max(1, math.ceil(load / unit - LEAST_OF_A_REPLICA))
        return _DOWN.create_decimal_from_float(count * unit)
    return _digits(in_steps(load, STEPS_TO_DOUBLE, _upward), 4)


def _upward(steps: float) -> int:
    """The next whole step; a load already on a step, up to rounding, stays."""
    return math.ceil(steps - 1e-9)


def shown(load: float, *, digits: int = DIGITS) -> Decimal:
    """A load as people read it, in few digits so that it is seldom rewritten."""
    return _digits(min(load, MOST), digits) if load >= LEAST else NOTHING


def _digits(load: float, digits: int) -> Decimal:
    return Decimal(f"{load:.{digits}g}")
