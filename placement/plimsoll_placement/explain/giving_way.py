"""The jobs that would have to yield for a job to run at once, and the work that they would lose.

The job is planned again with higher and higher priority until it has a place, whatever others lose:
by the first plan found, which moves few jobs, and by the best that can be found. The one that loses
less is reported.
"""

from dataclasses import dataclass, replace

from plimsoll_placement.explain.again import NOTHING, Again, Replanned
from plimsoll_placement.explain.changes.relaxing import Relaxation
from plimsoll_placement.heuristics.baseline import with_baseline
from plimsoll_placement.model import Assignments, Job, JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.score.worth import held_milli, lost_work, served_milli

MILLI = 1000


@dataclass(frozen=True, slots=True)
class Loss:
    """What a job loses: it had `was`, and has `now`, or waits if that is empty.

    `gpu_seconds`: the work that is thrown away.
    """

    job: JobName
    priority: int
    was: Assignments
    now: Assignments
    held_milli: int
    gpu_seconds: int

    @property
    def stops(self) -> bool:
        """Whether the job no longer has any place."""
        return not self.now


@dataclass(frozen=True, slots=True)
class Gain:
    """The useful work that a job gains in so many seconds, in GPU-seconds.

    `pays`: it is enough for what the others lose, by the rule of `score/price.py`. `beyond`: the
    GPU-seconds that plans may throw away at present, if the others would lose more.
    """

    gpu_seconds: int
    seconds: int
    pays: bool
    beyond: int | None = None


@dataclass(frozen=True, slots=True)
class GivingWay:
    """The least priority with which a job would run at once, where, and at which jobs' expense.

    `gain` is what it would gain at that price.
    """

    priority: int
    assignments: Assignments
    losses: tuple[Loss, ...]
    gain: Gain

    @property
    def gpu_seconds(self) -> int:
        """All the work that is thrown away."""
        return sum(loss.gpu_seconds for loss in self.losses)


def giving_way(again: Again, job: Job, relaxation: Relaxation = NOTHING) -> GivingWay | None:
    """Which jobs would yield at the least priority that suffices; None if none does."""
    free = replace(again.problem.weights, break_even_percent=0)
    unpriced = replace(again, problem=replace(again.problem, weights=free, loss_allowance=None))
    above = {each.priority + 1 for each, _ in again.held(job) if each.priority >= job.priority}
    for priority in sorted({job.priority, *above}):
        urgent = replace(job, priority=priority)
        plans = (each.plan(urgent, relaxation) for each in (unpriced.quick(), unpriced))
        found = [
            GivingWay(priority, p.assignments, losses(p), _gain(p, again.problem))
            for p in plans
            if p.runs
        ]
        if found:
            return min(found, key=lambda gives: (gives.gpu_seconds, len(gives.losses)))
    return None


def losses(planned: Replanned) -> tuple[Loss, ...]:
    """The losses of the jobs that do not keep all of their places, the most important first."""
    found = [
        _loss(job, now)
        for job in planned.problem.jobs
        for now in (planned.solution.placements.get(job.name, ()),)
        if set(job.running) - set(now)
    ]
    return tuple(sorted(found, key=lambda loss: (-loss.priority, loss.job)))


def _gain(planned: Replanned, terms: Problem) -> Gain:
    """What the job gains, judged by the price and the budget of a problem."""
    placements, weights = planned.solution.placements, terms.weights
    allowance = terms.loss_allowance
    limited = with_baseline(replace(planned.problem, weights=weights, loss_allowance=allowance))
    priced = replace(limited, loss_allowance=None)
    pays = score(priced, placements).unpaid == 0
    is_beyond = pays and score(limited, placements).unpaid > 0
    return Gain(
        gpu_seconds=served_milli(planned.job, planned.assignments) * weights.gain_seconds // MILLI,
        seconds=weights.gain_seconds,
        pays=pays,
        beyond=(allowance or 0) // MILLI if is_beyond else None,
    )


def _loss(job: Job, now: Assignments) -> Loss:
    return Loss(
        job=job.name,
        priority=job.priority,
        was=job.running,
        now=now,
        held_milli=held_milli(job, job.running),
        gpu_seconds=lost_work(job, now) // MILLI,
    )
