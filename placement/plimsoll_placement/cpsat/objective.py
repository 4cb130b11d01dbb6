"""The objective as linear sums: one for each level of the score (see `score.py`)."""

from dataclasses import dataclass

from plimsoll_placement.cpsat.builder import ModelBuilder
from plimsoll_placement.cpsat.sums import Sum, at_most
from plimsoll_placement.cpsat.usage import Account, Usage, least_held
from plimsoll_placement.model import GpuType
from plimsoll_placement.score.worth import least_milli

WHOLE_URGENCY = 1000

LARGEST_WORTH = 1 << 24
"""The last level is counted in a unit that makes its largest coefficient about this."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One level of the score as a sum over variables, in a unit of its own.

    Placements for which the sum has a value score at most
    (value × numerator + constant + slack) / denominator, rounded down; `slack` is what rounding
    one job at a time may add.
    """

    total: Sum
    constant: int = 0
    numerator: int = 1
    denominator: int = 1
    slack: int = 0

    def score(self, value: int) -> int:
        """The most that placements with this value of `total` can score."""
        return (value * self.numerator + self.constant + self.slack) // self.denominator

    def least_value(self, score: int) -> int:
        """The least value of `total` that placements of this score can have."""
        return -((self.slack + self.constant - score * self.denominator) // self.numerator)


def admission_levels(builder: ModelBuilder) -> tuple[Level, ...]:
    """All levels but the last, in order; adds the variables that they need."""
    found = [_guaranteed(builder)]
    for priority in builder.relaxation.problem.priorities:
        found += [_kept(builder, priority), _admitted(builder, priority)]
    return tuple(found)


def _guaranteed(builder: ModelBuilder) -> Level:
    """Guaranteed shares in use, in milli-GPUs."""
    usage, total, constant = least_held(builder.relaxation, builder.variables), Sum(), 0
    for account, milli in builder.relaxation.problem.entitlements.items():
        pinned = usage.pinned.get(account, 0)
        constant += min(milli, pinned)
        if milli > pinned:
            total.add(_used(builder, usage, account, milli - pinned).terms)
    return Level(total, constant)


def _used(builder: ModelBuilder, usage: Usage, account: Account, most: int) -> Sum:
    """What a queue uses of a type, counted up to `most`."""
    used = usage.total.get(account)
    if used is None:
        return Sum()
    counted = builder.variables.derive(most, lambda values: min(most, used.value(values)))
    at_most(builder.model, Sum().add([(counted, 1)]).add(used.terms, -1), 0)
    return Sum().add([(counted, 1)])


def _kept(builder: ModelBuilder, priority: int) -> Level:
    """What keeps running of a priority, in milli-GPUs."""
    total = Sum()
    for own in builder.variables.job_classes:
        job = own.job_class.job
        if job.priority != priority or not job.is_running:
            continue
        if own.service is not None:
            total.add([(own.service.kept, 1)])
        else:
            total.add(own.gangs, least_milli(job))
    return Level(total, builder.relaxation.kept_by_pinned(priority))


def _admitted(builder: ModelBuilder, priority: int) -> Level:
    """What is newly admitted, by urgency, less half of what queues hold beyond their fair share.

    In two-thousandths of a milli-GPU, so that halves and urgencies remain integers.
    """
    unit, total = 2 * WHOLE_URGENCY, Sum()
    for own in builder.variables.job_classes:
        job = own.job_class.job
        if job.priority != priority:
            continue
        if own.service is not None:
            total.add((served, 2 * job.urgency_milli) for served in own.service.served)
            total.add([(own.service.kept, -2 * job.urgency_milli)])
        elif not job.is_running:
            total.add(own.gangs, unit * (least_milli(job) * job.urgency_milli // WHOLE_URGENCY))
    beyond, constant = _beyond_fair(builder, priority)
    total.add(beyond.terms, -WHOLE_URGENCY)
    slack = WHOLE_URGENCY if beyond.variables or constant else 0
    return Level(total, -WHOLE_URGENCY * constant, denominator=unit, slack=slack)


def _beyond_fair(builder: ModelBuilder, priority: int) -> tuple[Sum, int]:
    """What jobs of at least a priority hold beyond the fair shares of their queues."""
    queues = [queue for queue in builder.relaxation.problem.queues if queue.fair]
    if not queues:
        return Sum(), 0
    usage, total, constant = least_held(builder.relaxation, builder.variables, priority), Sum(), 0
    for queue in queues:
        for gpu_type, milli in queue.fair.items():
            left = milli - usage.pinned.get((queue.name, gpu_type), 0)
            constant += max(0, -left)
            used = usage.total.get((queue.name, gpu_type), Sum())
            total.add((used if left <= 0 else _beyond(builder, used, gpu_type, left)).terms)
    return total, constant


def _beyond(builder: ModelBuilder, used: Sum, gpu_type: GpuType, fair: int) -> Sum:
    device_pools = builder.relaxation.ledger.device_pools.get(gpu_type, ())
    most = sum(int(device_pool.milli.sum()) for device_pool in device_pools) - fair
    if most <= 0 or not used.variables:
        return Sum()
    beyond = builder.variables.derive(most, lambda values: max(0, used.value(values) - fair))
    at_most(builder.model, Sum().add(used.terms).add([(beyond, -1)]), fair)
    return Sum().add([(beyond, 1)])


def worth_level(builder: ModelBuilder) -> Level:
    """Useful work less money, energy, the risk of spot and the work that stops throw away.

    Counted in a coarse unit, each coefficient rounded up, so that it is no less than the true one.
    """
    total = Sum()
    for own in builder.variables.job_classes:
        job_class, horizon = own.job_class, builder.relaxation.problem.weights.horizon_seconds
        if own.service is not None:
            total.add((served, job_class.weight * horizon) for served in own.service.served)
        total.add((kept.units, kept.stay.worth) for kept in own.kept)
    for fresh in builder.variables.fresh:
        steps = zip(fresh.growth, fresh.option.segments, strict=True)
        total.add((variable, segment.worth) for variable, segment in steps)
        if fresh.runs is not None:
            total.add([(fresh.runs, fresh.option.worth)])
        prices = builder.relaxation.ledger.prices.of(fresh.job_class.job, fresh.role)
        for pods in fresh.pods:
            row = builder.relaxation.node_classes.node_classes[pods.node_class].rows[0]
            total.add(pods.count.terms, -int(prices[row]))
    total = total.merged()
    unit = max(1, max(map(abs, total.coefficients), default=1) // LARGEST_WORTH)
    return Level(total.rounded_up(unit), builder.relaxation.sunk_worth(), numerator=unit)
