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
"""

from collections import defaultdict
from collections.abc import Mapping

from plimsoll_placement.model import Assignments, Job, JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import WHOLE_PERCENT, stop_loss, worth


def pays(problem: Problem, gained: int, lost: int) -> bool:
    """Whether a gain over the planning horizon is enough for a loss; without a loss any is."""
    return shortfall(problem, gained, lost) == 0


def shortfall(problem: Problem, gained: int, lost: int) -> int:
    """How much more would have to be gained over the planning horizon to make up for a loss."""
    weights = problem.weights
    price = lost * weights.break_even_percent * weights.horizon_seconds
    scale = WHOLE_PERCENT * max(weights.gain_seconds, 1)
    return max(0, price // scale + 1 - gained) if price > 0 else 0


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


def unpaid(problem: Problem, placements: Mapping[JobName, Assignments]) -> int:
    """What these placements throw away for too little; 0 if every change pays."""
    baseline = problem.baseline
    if baseline is None:
        return 0
    gained, lost = defaultdict[int, int](int), defaultdict[int, int](int)
    lowest = min(problem.priorities, default=0)
    for job in problem.jobs:
        was, now = baseline.get(job.name, ()), placements.get(job.name, ())
        if was == now:
            continue
        gained[job.priority] += max(0, weighed_gain(problem, job, was, now))
        lost[job.priority if job.gang else lowest] += weighed_loss(problem, job, was, now)
    total = gain = loss = 0
    for priority in sorted(gained.keys() | lost.keys(), reverse=True):
        gain, loss = gain + gained[priority], loss + lost[priority]
        total += shortfall(problem, gain, loss)
    return total
