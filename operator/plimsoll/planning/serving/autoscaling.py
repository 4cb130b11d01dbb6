"""Compute a service's wanted load from its forecast, limited in how fast it may change.

As in the Kubernetes HPA: no more than was forecast throughout the scale-up window, no less than was
forecast at any time in the scale-down window, and no faster than a share per period. Besides the
demand, all inputs are in the job's status.
"""

import math
from datetime import datetime
from decimal import Decimal

from plimsoll.api.inference_job import BucketLoad, InferenceJob, RoleStatus
from plimsoll.api.parts.load import Scaling, ScalingRule
from plimsoll.api.parts.roles import Role as RoleSpec
from plimsoll.observe.measured.demand import BucketDemand, RoleDemand
from plimsoll.planning.rounding import STEPS_TO_DOUBLE, in_steps
from plimsoll.planning.serving.replicas import Capacities, capacities, role_status

DIGITS = 2
LEAST = 1e-6
"""Less than this is nothing: a quantity has nine decimals."""
MOST = 1e15
"""More than this is capped: no load is as large, and quantities are bounded."""
WHOLE_PERCENT = 100
NOTHING = Decimal(0)


def scaled_loads(
    job: InferenceJob, role: RoleSpec, demand: RoleDemand, now: datetime
) -> tuple[BucketLoad, ...]:
    """The loads of a role for its status; buckets that are gone have none."""
    status = role_status(job, role)
    known = _smallest(capacities(job, role))
    return tuple(
        _scaled(_before(status, load.bucket), load, job.spec.scaling, known, now)
        for load in demand.loads
    )


def _before(status: RoleStatus | None, bucket: str) -> BucketLoad | None:
    return next((each for each in status.loads if each.bucket == bucket), None) if status else None


def _smallest(known: Capacities) -> float:
    """The smallest load that one more replica carries."""
    return min(known.values(), default=0.0)


def _scaled(
    before: BucketLoad | None,
    load: BucketDemand,
    rules: Scaling,
    one_replica: float,
    now: datetime,
) -> BucketLoad:
    observed, foreseen = shown(load.observed), shown(load.foreseen)
    if before is None:
        wanted, since = stepped(min(load.foreseen, MOST)), now
    else:
        wanted = _wanted(before, load, rules, one_replica, now)
        since = before.since if wanted == before.wanted else now
    return BucketLoad(
        bucket=load.bucket,
        observed=observed,
        forecast=foreseen,
        wanted=wanted,
        since=since.replace(microsecond=0),
        size_group=before.size_group if before else None,
    )


def _wanted(
    before: BucketLoad, load: BucketDemand, rules: Scaling, one_replica: float, now: datetime
) -> Decimal:
    more, less = stepped(load.least_of_late), stepped(load.most_of_late)
    if more > before.wanted:
        return min(more, _limit(before, rules.up, one_replica, now, sign=1))
    if less < before.wanted:
        return max(less, _limit(before, rules.down, one_replica, now, sign=-1))
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


def stepped(load: float) -> Decimal:
    """A load rounded up to steps of about 2 %, so that few measurements trigger a new plan."""
    if load < LEAST:
        return NOTHING
    if math.isinf(load):
        return Decimal("Infinity")
    return _digits(in_steps(min(load, MOST), STEPS_TO_DOUBLE, _upward), 4)


def _upward(steps: float) -> int:
    """The next whole step; a load already on a step, up to rounding, stays."""
    return math.ceil(steps - 1e-9)


def shown(load: float, *, digits: int = DIGITS) -> Decimal:
    """A load as people read it, in few digits so that it is seldom rewritten."""
    return _digits(min(load, MOST), digits) if load >= LEAST else NOTHING


def _digits(load: float, digits: int) -> Decimal:
    return Decimal(f"{load:.{digits}g}")
