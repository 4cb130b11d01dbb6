"""What it is worth to move jobs onto other nodes, set against what that throws away."""

from collections.abc import Iterable
from dataclasses import replace

from plimsoll_placement.model import WHOLE_GPU_MILLI, Job, Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.price import gross_worth
from plimsoll_placement.score.worth import SECONDS_PER_HOUR, WHOLE_PERCENT, stop_loss


def gained_by_moves(problem: Problem, jobs: Iterable[Job], placements: Placements) -> int:
    """What the jobs gain by the placements beyond what their stops must bring in.

    In milli-GPU-seconds within the time in which changes must pay, without what nodes cost.
    """
    weights = problem.weights
    free = replace(problem, weights=replace(weights, gpu_seconds_per_dollar=0))
    gained = counted = 0
    for job in jobs:
        placed = placements.get(job.name, ())
        weight = problem.priority_weight[job.priority]
        gained += gross_worth(free, job, placed, weight)
        gained -= gross_worth(free, job, job.running, weight)
        counted += stop_loss(job, placed)
    gain = gained * weights.gain_seconds // max(weights.horizon_seconds, 1)
    return gain - counted * weights.break_even_percent // WHOLE_PERCENT


def worth_of_dollars(problem: Problem, dollars_an_hour: float) -> int:
    """What dollars an hour are worth, in the same unit."""
    weights = problem.weights
    dollars = dollars_an_hour * weights.gain_seconds / SECONDS_PER_HOUR
    return int(dollars * weights.gpu_seconds_per_dollar * WHOLE_GPU_MILLI)
