"""The levels of the score (see `score.py`) as objectives of the linear program."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.lp.accounts import least_holding
from plimsoll_placement.lp.columns import Shares
from plimsoll_placement.lp.program import Column, Program
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.score.score import least_use
from plimsoll_placement.score.worth import least_milli

WHOLE_URGENCY = 1000

TOLERANCE = 1e-6
"""How far a floating-point objective may be off, as a share."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A level of the score as `scale` times an objective, and a constant."""

    terms: Sequence[tuple[Column, float]]
    constant: int = 0
    scale: float = WHOLE_GPU_MILLI

    def score(self, value: float) -> int:
        """The most that placements can score if the objective is at most this."""
        exact = value * self.scale
        return floor(exact + TOLERANCE * abs(exact) + 1) + self.constant

    def value(self, score: int) -> float:
        """The objective's value, within rounding, for placements with a score."""
        return (score - self.constant - 1) / self.scale - TOLERANCE


def levels(program: Program, relaxed: Relaxation, shares: Sequence[Shares]) -> list[Level]:
    """All levels in order; adds the columns that they need."""
    found = [_guaranteed(program, relaxed, shares)]
    for priority in relaxed.problem.priorities:
        own = [each for each in shares if each.job_class.job.priority == priority]
        found.append(_kept(relaxed, own, priority))
        found.append(_admitted(program, relaxed, shares, own))
    return [*found, _worth(relaxed, shares)]


def _guaranteed(program: Program, relaxed: Relaxation, shares: Sequence[Shares]) -> Level:
    holding = least_holding(relaxed, shares)
    pinned = least_use(relaxed.problem, relaxed.pinned)
    terms, constant = list[tuple[Column, float]](), 0
    for account, milli in relaxed.problem.entitlements.items():
        held = min(milli, pinned.get(account, 0))
        constant += held
        counted = program.column((milli - held) / WHOLE_GPU_MILLI)
        used = [(column, -gpus) for column, gpus in holding[account]]
        program.at_most([(counted, 1.0), *used], 0.0)
        terms.append((counted, 1.0))
    return Level(terms, constant)


def _kept(relaxed: Relaxation, own: Sequence[Shares], priority: int) -> Level:
    terms: list[tuple[Column, float]] = []
    for each in own:
        if not each.job_class.job.is_running:
            continue
        if each.service is not None:
            terms.append((each.service.kept, 1.0))
        else:
            gpus = least_milli(each.job_class.job) / WHOLE_GPU_MILLI
            terms += [(column, gpus) for column in _gangs(each)]
    return Level(terms, relaxed.kept_by_pinned(priority))


def _admitted(
    program: Program, relaxed: Relaxation, shares: Sequence[Shares], own: Sequence[Shares]
) -> Level:
    terms: list[tuple[Column, float]] = []
    for each in own:
        job = each.job_class.job
        urgency = job.urgency_milli / WHOLE_URGENCY
        if each.service is not None:
            terms += [(served, urgency) for _, served in each.service.served]
            terms.append((each.service.kept, -urgency))
        elif not job.is_running:
            gpus = least_milli(job) * job.urgency_milli // WHOLE_URGENCY / WHOLE_GPU_MILLI
            terms += [(column, gpus) for column in _gangs(each)]
    if not own:
        return Level(terms)
    beyond, constant = _beyond_fair(program, relaxed, shares, own[0].job_class.job.priority)
    return Level([*terms, *beyond], constant)


def _beyond_fair(
    program: Program, relaxed: Relaxation, shares: Sequence[Shares], priority: int
) -> tuple[list[tuple[Column, float]], int]:
    """Half of what jobs of at least a priority hold beyond the fair shares of their queues."""
    holding = least_holding(relaxed, shares, priority)
    pinned = least_use(relaxed.problem, relaxed.pinned, priority)
    terms, constant = list[tuple[Column, float]](), 0
    for queue in relaxed.problem.queues:
        for gpu_type, milli in queue.fair.items():
            account = queue.name, gpu_type
            left = milli - pinned.get(account, 0)
            constant += max(0, -left)
            beyond = program.column(_supply(relaxed, gpu_type))
            program.at_most([*holding[account], (beyond, -1.0)], max(0, left) / WHOLE_GPU_MILLI)
            terms.append((beyond, -0.5))
    return terms, -(constant // 2)


def _supply(relaxed: Relaxation, gpu_type: str) -> float:
    device_pools = (
        device_pool
        for kind, own in relaxed.ledger.device_pools.items()
        if kind == gpu_type
        for device_pool in own
    )
    return sum(int(device_pool.milli.sum()) for device_pool in device_pools) / WHOLE_GPU_MILLI


def _worth(relaxed: Relaxation, shares: Sequence[Shares]) -> Level:
    """Useful work less its price, in GPUs over the horizon."""
    horizon = relaxed.problem.weights.horizon_seconds
    scale = float(WHOLE_GPU_MILLI * max(horizon, 1))
    terms: list[tuple[Column, float]] = []
    for own in shares:
        second = own.job_class.weight * horizon * WHOLE_GPU_MILLI / scale
        if own.service is not None:
            terms += [(served, second) for _, served in own.service.served]
        terms += [(column, stay.worth / scale) for stay, column in own.stays]
        for way in own.ways:
            role = way.option.role
            row = relaxed.node_classes.node_classes[way.node_class].rows[0]
            price = (
                int(relaxed.ledger.prices.of(own.job_class.job, role)[row]) * role.pods_per_replica
            )
            terms.append((way.count, way.option.worth / scale))
            terms += [
                (column, segment.worth / scale)
                for column, segment in zip(way.growth, way.option.segments, strict=True)
            ]
            terms += [(column, -replicas * price / scale) for column, replicas in way.replicas]
    return Level(terms, relaxed.sunk_worth(), scale)


def _gangs(own: Shares) -> list[Column]:
    return [way.count for way in own.ways] + [column for _, column in own.stays]
