"""The levels of the score over a scope: sums of variables, plus what the jobs outside it add.

With that constant a level equals what `score.py` says of the placements, or less where the model
takes no credit: for a gang that crosses no domains although it might have.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plimsoll_placement.cpsat.exact.linear import covers, no_more_than
from plimsoll_placement.cpsat.exact.variables import Batch, Kept, Size, Variables
from plimsoll_placement.cpsat.sums import Sum, Terms
from plimsoll_placement.model import GpuType, Job, QueueName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import most_kept_and_admitted
from plimsoll_placement.score.contributions import least_by_type
from plimsoll_placement.score.worth import (
    WHOLE_PERCENT,
    crossing_percent,
    held_milli,
    kept_and_admitted,
    least_milli,
    pod_price,
    worth,
)

PLAIN_URGENCY_MILLI = 1000
MOST_MILLI = 1 << 40
"""More GPUs than any queue holds."""

Use = dict[tuple[QueueName, GpuType], Sum]


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the score: a sum and a constant.

    `most` is the best it can reach if nothing competes; None if that is not known. What is
    maximised beside the levels is not `is_of_score`.
    """

    total: Sum
    constant: int
    most: int | None = None
    is_of_score: bool = True


def levels(variables: Variables) -> list[Level]:
    """All levels, in the order of the score."""
    problem, standing = variables.remains.scope.problem, _Standing(variables)
    found = [_guaranteed(variables)]
    for priority in problem.priorities:
        found.append(_kept(variables, priority, standing.kept[priority]))
        found.append(_admitted(variables, priority, standing.admitted[priority]))
    return [*found, _worth(variables, standing.worth)]


class _Standing:
    """What the jobs outside the scope add: kept and admitted by priority, and worth."""

    def __init__(self, variables: Variables) -> None:
        scope = variables.remains.scope
        weights = scope.problem.priority_weight
        self.kept: dict[int, int] = defaultdict(int)
        self.admitted: dict[int, int] = defaultdict(int)
        self.worth = 0
        for job in (job for job in scope.problem.jobs if job.name not in scope.names):
            placed = scope.outside.get(job.name, ())
            keeps, admits = kept_and_admitted(job, placed)
            self.kept[job.priority] += keeps
            self.admitted[job.priority] += admits
            self.worth += worth(scope.problem, job, placed, weights[job.priority])


def _guaranteed(variables: Variables) -> Level:
    """What is guaranteed and in use, at the least size."""
    total, constant, most = Sum(), 0, 0
    use, standing = _least_use(variables, None), variables.remains.usage
    for key, claimed in variables.remains.scope.problem.entitlements.items():
        here = min(claimed, standing.get(key, 0))
        constant += here
        if key in use and here < claimed:
            more = variables.up_to(claimed - here)
            covers(variables.model, use[key], Sum().add([(more, 1)]))
            total.add([(more, 1)])
            most += min(claimed - here, _most_use(variables, *key))
    return Level(total, constant, constant + most)


def _most_use(variables: Variables, queue: QueueName, gpu_type: GpuType) -> int:
    """What the scope's jobs below a queue can hold of a type, with gangs at their least size."""
    total, chain = 0, _chain(variables)
    for job in variables.remains.scope.jobs:
        if queue in chain.get(job.queue, ()):
            for role in (role for role in job.roles if gpu_type in role.yields):
                pods = role.counts[0 if job.gang else -1] * role.pods_per_replica
                total += pods * role.shape.gpu_milli
    return total


def _least_use(variables: Variables, floor: int | None) -> Use:
    """What jobs of at least a priority hold, gangs at their least size."""
    use, chain = defaultdict[tuple[QueueName, GpuType], Sum](Sum), _chain(variables)
    for batch in variables.batches:
        if floor is None or batch.job.priority >= floor:
            for queue in chain.get(batch.job.queue, ()):
                for size in batch.sizes:
                    milli = batch.role.least_gpu_milli
                    use[queue, batch.gpu_type].add([(size.chosen, milli)])
                if not batch.sizes:
                    milli = batch.role.pods_per_replica * batch.role.shape.gpu_milli
                    use[queue, batch.gpu_type].add(batch.replicas.terms, milli)
    for kept in variables.kept:
        if floor is None or kept.job.priority >= floor:
            for queue in chain.get(kept.job.queue, ()):
                for gpu_type, milli in least_by_type(kept.job, kept.assignments).items():
                    use[queue, gpu_type].add([(kept.stays, milli)])
    return use


def _chain(variables: Variables) -> Mapping[QueueName, tuple[QueueName, ...]]:
    return variables.remains.scope.problem.queue_chain


def _kept(variables: Variables, priority: int, standing: int) -> Level:
    """What keeps running of one priority."""
    total = Sum()
    for job, chosen in _gangs(variables, priority):
        if job.is_running:
            total.add(chosen.terms, least_milli(job))
    for service in variables.services:
        if service.job.priority == priority and service.kept is not None:
            total.add([(service.kept, 1)])
    mine = (job for job in variables.remains.scope.jobs if job.priority == priority)
    return Level(total, standing, standing + sum(most_kept_and_admitted(job)[0] for job in mine))


def _admitted(variables: Variables, priority: int, standing: int) -> Level:
    """What is newly admitted of one priority, less half of what is beyond fair shares."""
    total = Sum()
    for job, chosen in _gangs(variables, priority):
        if not job.is_running:
            total.add(chosen.terms, least_milli(job) * job.urgency_milli // PLAIN_URGENCY_MILLI)
    for service in variables.services:
        if service.job.priority == priority:
            total.add([(service.admitted, 1)])
    mine = (job for job in variables.remains.scope.jobs if job.priority == priority)
    most = standing + sum(most_kept_and_admitted(job)[1] for job in mine)
    beyond, constant = _beyond_fair(variables, priority)
    if not beyond.variables:
        return Level(total, standing - constant // 2, most - constant // 2)
    # Half of it, rounded down: twice that is no less than the whole less one.
    half = variables.up_to(MOST_MILLI)
    no_more_than(variables.model, Sum().add(beyond.terms).add([(half, -2)]), 1 - constant)
    return Level(total.add([(half, -1)]), standing, most - constant // 2)


def _gangs(variables: Variables, priority: int) -> Iterator[tuple[Job, Sum]]:
    """The ways in which each gang of a priority runs."""
    for batch in variables.batches:
        leads = batch.role.name == batch.job.roles[0].name
        if batch.sizes and leads and batch.job.priority == priority:
            yield batch.job, Sum().add((size.chosen, 1) for size in batch.sizes)
    for kept in variables.kept:
        if kept.job.gang and kept.job.priority == priority:
            yield kept.job, Sum().add([(kept.stays, 1)])


def _beyond_fair(variables: Variables, priority: int) -> tuple[Sum, int]:
    """What queues hold beyond their fair shares: as variables, and outside the scope's control."""
    total, constant, problem = Sum(), 0, variables.remains.scope.problem
    if not any(queue.fair for queue in problem.queues):
        return total, constant
    use, standing = _least_use(variables, priority), variables.remains.usage_from(priority)
    for queue in problem.queues:
        for gpu_type, fair in queue.fair.items():
            spare = fair - standing.get((queue.name, gpu_type), 0)
            mine = use.get((queue.name, gpu_type))
            if mine is None:
                constant += max(0, -spare)
                continue
            beyond = variables.up_to(MOST_MILLI)
            no_more_than(variables.model, mine.add([(beyond, -1)]), spare)
            total.add([(beyond, 1)])
    return total, constant


def _worth(variables: Variables, standing: int) -> Level:
    """Useful work less its price, and less the work that stops throw away."""
    scope, total = variables.remains.scope, Sum()
    weights = scope.problem.priority_weight
    for batch in variables.batches:
        _add_batch(variables, total, batch, weights[batch.job.priority])
    for service in variables.services:
        second = weights[service.job.priority] * scope.problem.weights.horizon_seconds
        total.add((served, second) for served in service.served)
    for kept in variables.kept:
        total.add([(kept.stays, _stay_worth(variables, kept, weights[kept.job.priority]))])
    lost = sum(job.stop_seconds * held_milli(job, job.running) for job in scope.jobs)
    return Level(total, standing - lost)


def _add_batch(variables: Variables, total: Sum, batch: Batch, weight: int) -> None:
    """Add what new pods cost and what gangs are worth by size; of services, what they serve."""
    problem = variables.remains.scope.problem
    total.add(costs(problem, batch), -1)
    total.add((size.chosen, size_worth(problem, batch, size, weight)) for size in batch.sizes)


def costs(problem: Problem, batch: Batch) -> Terms:
    """What new pods cost."""
    for row, count in batch.pods.items():
        yield count, pod_price(problem, batch.job, batch.role, problem.nodes[row])


def size_worth(problem: Problem, batch: Batch, size: Size, weight: int) -> int:
    """What a gang is worth at a size by the useful work of one of its roles."""
    lost_percent = crossing_percent(problem, batch.job, batch.gpu_type) if size.crosses else 0
    useful = batch.role.yields[batch.gpu_type][size.place] * problem.weights.horizon_seconds
    return weight * (useful * (WHOLE_PERCENT - lost_percent) // WHOLE_PERCENT)


def _stay_worth(variables: Variables, kept: Kept, weight: int) -> int:
    """What a gang that stays is worth, or what a replica costs; it loses no work."""
    problem, job = variables.remains.scope.problem, kept.job
    saved = job.stop_seconds * held_milli(job, kept.assignments)
    if job.gang:
        return saved + worth(problem, job, kept.assignments, weight)
    return saved - stay_cost(problem, kept)


def stay_cost(problem: Problem, kept: Kept) -> int:
    """What a replica that stays costs."""
    role = kept.job.role(kept.assignments[0].role)
    return sum(
        pod_price(problem, kept.job, role, problem.nodes[problem.node_index[name]])
        for assignment in kept.assignments
        for name in assignment.nodes
    )
