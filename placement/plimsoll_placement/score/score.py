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
from collections.abc import Iterator, Mapping

from plimsoll_placement.model import Assignments, GpuType, JobName, QueueName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.contributions import Contributions, least_by_type
from plimsoll_placement.score.price import unpaid
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
    known = Contributions() if problem.memory is None else problem.memory.part(Contributions)
    known.turn_to(problem)
    kept: dict[int, int] = defaultdict(int)
    admitted: dict[int, int] = defaultdict(int)
    least: dict[tuple[int, QueueName, GpuType], int] = defaultdict(int)
    total_worth = 0
    for job in problem.jobs:
        placed = placements.get(job.name, ())
        if not placed and not job.running:
            continue
        adds = known.of(problem, job, placed)
        kept[job.priority] += adds.kept
        admitted[job.priority] += adds.admitted
        total_worth += adds.worth
        for kind, milli in adds.least:
            least[job.priority, job.queue, kind] += milli
    usage: QueueUsage = defaultdict(int)
    levels: list[int] = []
    for priority in problem.priorities:
        for (_, queue, kind), milli in _of_priority(least, priority):
            for each in problem.queue_chain.get(queue, ()):
                usage[each, kind] += milli
        levels += [kept[priority], admitted[priority] - beyond_fair(problem, usage) // 2]
    levels.insert(0, guaranteed_in_use(problem, usage))
    return Score((*levels, total_worth), unpaid(problem, placements))


Least = Mapping[tuple[int, QueueName, GpuType], int]


def _of_priority(
    least: Least, priority: int
) -> Iterator[tuple[tuple[int, QueueName, GpuType], int]]:
    return ((key, milli) for key, milli in least.items() if key[0] == priority)
