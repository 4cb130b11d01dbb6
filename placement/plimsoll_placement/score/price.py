"""What changes must gain: nothing is moved, resized or preempted for less than it throws away.

Placements are compared with a baseline (`Problem.baseline`) in which everything goes on as it runs
and jobs that wait get what is free. Only what is due is disturbed there, whatever it costs: what
must leave its node, what stands in the way of a guarantee, or has a lower priority than a job that
is overdue. What the jobs of each priority gain and lose against the baseline is summed from the
highest priority down, and at each the sum gained must exceed the sum lost: so the unsaved work of a
higher priority is never spent on a lower one. All is in milli-GPU-seconds, weighed by the rank of
the priority:

- gained: what jobs are worth more, less money, energy and risk, as long as gains last. What others
  are worth less is no loss: they can still do that work later.
- lost: the work that stops throw away. A replica has no unsaved work: what its stop costs counts
  with the lowest priority.

Within the disruption budget (`Problem.loss_allowance`) gangs that are moved or preempted may also
not lose more than it allows beyond the baseline, unless more work of higher priorities pays for all
that is lost.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plimsoll_placement.model import Assignments, Job, JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import (
    WHOLE_PERCENT,
    lost_work,
    served_milli,
    stop_loss,
    worth,
)


def pays(problem: Problem, gained: int, lost: int) -> bool:
    """Whether a gain over the planning horizon is enough for a loss; without a loss any is."""
    return shortfall(problem, gained, lost) == 0


def shortfall(problem: Problem, gained: int, lost: int) -> int:
    """How much more would have to be gained over the planning horizon to make up for a loss."""
    weights = problem.weights
    price = lost * weights.break_even_percent * weights.horizon_seconds
    scale = WHOLE_PERCENT * max(weights.gain_seconds, 1)
    return max(0, price // scale + 1 - gained) if price > 0 else 0


def payable_loss(problem: Problem, gain: int) -> float:
    """The most that may be lost for a gain over the planning horizon."""
    weights = problem.weights
    price = weights.break_even_percent * weights.horizon_seconds
    return (gain - 1) * WHOLE_PERCENT * max(weights.gain_seconds, 1) / price if price else math.inf


def gross_worth(problem: Problem, job: Job, placed: Assignments, weight: int) -> int:
    """What a job is worth with these assignments, whatever it lost on the way to them."""
    return worth(problem, job, placed, weight) + stop_loss(job, placed)


def weighed_loss(problem: Problem, job: Job, was: Assignments, now: Assignments) -> int:
    """What a job throws away by going from some assignments to others, weighed by its priority."""
    return problem.priority_weight[job.priority] * (stop_loss(job, now) - stop_loss(job, was))


def weighed_gain(problem: Problem, job: Job, was: Assignments, now: Assignments) -> int:
    """What a job is worth more with other assignments over the planning horizon, or less."""
    weight = problem.priority_weight[job.priority]
    return gross_worth(problem, job, now, weight) - gross_worth(problem, job, was, weight)


def could_pay(problem: Problem, job: Job, milli: int, lost: int) -> bool:
    """Whether a job could make up for a loss by so many useful milli-GPUs, if they cost nothing."""
    second = problem.priority_weight[job.priority] * problem.weights.horizon_seconds
    return pays(problem, milli * second, lost)


def lost_beyond(job: Job, was: Assignments, now: Assignments) -> int:
    """What a gang throws away more by some assignments than by those of the baseline.

    To be resized is what elastic gangs are for: that has its price, but no budget.
    """
    is_resized = now and job.size(now) != job.size(job.running)
    return 0 if is_resized or not job.gang else max(0, lost_work(job, now) - lost_work(job, was))


@dataclass(slots=True)
class Changes:
    """What the jobs of a priority gain and lose against the baseline.

    `gained` and `lost` are weighed; `by_work` is what those gain that do more. `counted` is what
    gangs lose by the clock.
    """

    gained: int = 0
    by_work: int = 0
    lost: int = 0
    counted: int = 0


def unpaid(problem: Problem, placements: Mapping[JobName, Assignments]) -> int:
    """What these placements throw away for too little, or beyond the disruption budget."""
    changes = changes_of(problem, placements, problem.jobs)
    total = gain = by_work = loss = counted = 0
    for priority in sorted(changes, reverse=True):
        these = changes[priority]
        gain, loss = gain + these.gained, loss + these.lost
        total += shortfall(problem, gain, loss)
        if not by_work or not pays(problem, by_work, loss):
            counted += these.counted
        by_work += these.by_work
    allowance = problem.loss_allowance
    return total if allowance is None else total + max(0, counted - allowance)


def _does_more(job: Job, was: Assignments, now: Assignments) -> bool:
    return served_milli(job, now) > served_milli(job, was)


def changes_of(
    problem: Problem, placements: Mapping[JobName, Assignments], jobs: Iterable[Job]
) -> Mapping[int, Changes]:
    """What some jobs gain and lose by placements, by priority; nothing without a baseline."""
    found = defaultdict[int, Changes](Changes)
    lowest = min(problem.priorities, default=0)
    for job in jobs if problem.baseline is not None else ():
        was, now = (problem.baseline or {}).get(job.name, ()), placements.get(job.name, ())
        if was == now:
            continue
        mine, gain = found[job.priority], max(0, weighed_gain(problem, job, was, now))
        mine.gained += gain
        mine.by_work += gain if _does_more(job, was, now) else 0
        mine.counted += lost_beyond(job, was, now)
        found[job.priority if job.gang else lowest].lost += weighed_loss(problem, job, was, now)
    return found
