"""How good placements are: one exact formula for greedy, the models and any comparison.

A score has levels, compared from the first on:

1. guaranteed: for each queue and GPU type the smaller of what it can claim of its guarantee
   (see `entitlements.py`) and what the jobs below it hold at their least size, in milli-GPUs;
2. for each priority, highest first, two levels: what keeps running (least size of gangs, served
   load of inference) and what is newly admitted, weighted by urgency, less half of what queues
   hold beyond their fair share;
3. worth: useful milli-GPU-seconds over the horizon, weighted by the rank of the priority, less
   money, energy, the risk of spot and the work that stops throw away.

After the first level comes what changes throw away for too little (see `price.py`).

All are integers; costs are rounded down one pod at a time, so that the model can add the same
coefficients. Nothing here checks feasibility: `check/` does.
"""

from collections import defaultdict
from collections.abc import Mapping

from plimsoll_placement.model import Assignments, GpuType, Job, JobName, QueueName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.price import unpaid
from plimsoll_placement.score.worth import (
    kept_and_admitted,
    least_milli,
    worth,
)
from plimsoll_placement.solution import Score

QueueUsage = dict[tuple[QueueName, GpuType], int]


def least_use(
    problem: Problem, placements: Mapping[JobName, Assignments], floor: int | None = None
) -> QueueUsage:
    """Milli-GPUs by queue (descendants included) and type, with gangs at their least size.

    With `floor`, only jobs of at least that priority count.
    """
    usage: QueueUsage = defaultdict(int)
    for job in problem.jobs:
        placed = placements.get(job.name, ())
        if not placed or (floor is not None and job.priority < floor):
            continue
        for kind, milli in least_by_type(job, placed).items():
            for queue in problem.queue_chain.get(job.queue, ()):
                usage[queue, kind] += milli
    return usage


def least_by_type(job: Job, placed: Assignments) -> dict[GpuType, int]:
    """Milli-GPUs by type of what a job has, a gang at its least size."""
    if job.gang and not job.companions:
        return {placed[0].gpu_type: least_milli(job)}
    held: dict[GpuType, int] = defaultdict(int)
    if job.gang:
        for name, kind in {each.role: each.gpu_type for each in placed}.items():
            role = job.role(name)
            held[kind] += role.least * role.pods_per_replica * role.shape.gpu_milli
        return held
    for assignment in placed:
        held[assignment.gpu_type] += job.role(assignment.role).shape.gpu_milli * len(
            assignment.nodes
        )
    return held


def guaranteed_in_use(problem: Problem, usage: QueueUsage) -> int:
    """The first level."""
    return sum(min(milli, usage.get(key, 0)) for key, milli in problem.entitlements.items())


def beyond_fair(problem: Problem, usage: QueueUsage) -> int:
    """Milli-GPUs that queues hold beyond their fair shares."""
    return sum(
        max(0, usage.get((queue.name, kind), 0) - milli)
        for queue in problem.queues
        for kind, milli in queue.fair.items()
    )


def score(problem: Problem, placements: Mapping[JobName, Assignments]) -> Score:
    """The exact score of placements, level by level."""
    kept: dict[int, int] = defaultdict(int)
    admitted: dict[int, int] = defaultdict(int)
    weights = problem.priority_weight
    total_worth = 0
    for job in problem.jobs:
        placed = placements.get(job.name, ())
        keeps, admits = kept_and_admitted(job, placed)
        kept[job.priority] += keeps
        admitted[job.priority] += admits
        total_worth += worth(problem, job, placed, weights[job.priority])
    levels = [guaranteed_in_use(problem, least_use(problem, placements))]
    for priority in problem.priorities:
        beyond = (
            beyond_fair(problem, least_use(problem, placements, priority)) if problem.queues else 0
        )
        levels += [kept[priority], admitted[priority] - beyond // 2]
    return Score((*levels, total_worth), unpaid(problem, placements))
