"""No plan throws away more than it gains: the rule of `score/price.py`, told in another way."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from hypothesis import event, given

from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics.baseline import with_baseline
from plimsoll_placement.model import Assignments, Job, Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import guaranteed_in_use, least_use
from plimsoll_placement.score.worth import served_milli, worth
from plimsoll_placement.solve import solve_lean
from support.problems.strategies import broken_problems, problems, sources

HOUR = 3600
Change = tuple[Job, Assignments, Assignments, int]
"""A job, what it has in the baseline and in the plan, and the weight of its priority."""

UNSAVED = (0, 60, HOUR, 8 * HOUR, 50 * HOUR)


def with_unsaved_work(problem: Problem, rng: Random) -> Problem:
    """The jobs with very different work to lose, of few priorities; some have waited for long."""
    jobs = tuple(
        replace(
            job,
            priority=rng.choice((0, 1000, -100)),
            restart_seconds=rng.choice(UNSAVED),
            overdue=not job.running and rng.random() < 0.1,
        )
        for job in problem.jobs
    )
    percent, seconds = rng.choice((100, 50, 300)), rng.choice((HOUR, 60, 24 * HOUR))
    weights = replace(problem.weights, break_even_percent=percent, gain_seconds=seconds)
    allowance = rng.choice((None, 0, 4000 * 60, 4000 * HOUR))
    return replace(problem, jobs=jobs, weights=weights, loss_allowance=allowance)


def overspent(problem: Problem, placements: Placements) -> Iterator[int]:
    """The priorities down to which more is thrown away than gained."""
    changed = list(changes(problem, placements))
    for priority in {job.priority for job in problem.jobs}:
        gained = sum(gain(problem, each) for each in changed if each[0].priority >= priority)
        lost = lost_down_to(problem, changed, priority)
        if lost > 0 and gained <= lost * problem.weights.break_even_percent / 100:
            yield priority


def lost_by_the_budget(problem: Problem, placements: Placements) -> int:
    """What gangs lose that no work of higher priorities pays for with all that is lost."""
    total, changed = 0, list(changes(problem, placements))
    for priority in {job.priority for job in problem.jobs}:
        above = [each for each in changed if each[0].priority > priority and does_more(each)]
        gained, lost = (
            sum(gain(problem, each) for each in above),
            lost_down_to(problem, changed, priority),
        )
        if not gained or (lost > 0 and gained <= lost * problem.weights.break_even_percent / 100):
            total += sum(
                max(0, thrown_away(job, now) - thrown_away(job, was))
                for job, was, now, _ in changed
                if job.gang and job.priority == priority and len(now) in (0, len(job.running))
            )
    return total


def gain(problem: Problem, change: Change) -> float:
    """What a job is worth more by its change, weighed, while gains count; never less than 0."""
    (job, was, now, weight), weights = change, problem.weights
    fresh = replace(job, running=())
    more = worth(problem, fresh, now, weight) - worth(problem, fresh, was, weight)
    return max(0.0, more * weights.gain_seconds / weights.horizon_seconds)


def does_more(change: Change) -> bool:
    job, was, now, _ = change
    return served_milli(job, now) > served_milli(job, was)


def lost_down_to(problem: Problem, changed: Iterable[Change], priority: int) -> float:
    """What is thrown away, weighed, of gangs down to a priority; of services with the lowest."""
    is_lowest = priority == min(problem.priorities)
    return sum(
        weight * (thrown_away(job, now) - thrown_away(job, was))
        for job, was, now, weight in changed
        if (job.priority >= priority if job.gang else is_lowest)
    )


def changes(problem: Problem, placements: Placements) -> Iterator[Change]:
    """The jobs that have something other than in the baseline."""
    baseline = problem.baseline or {}
    ranks = sorted({job.priority for job in problem.jobs})
    for job in problem.jobs:
        was, now = baseline.get(job.name, ()), placements.get(job.name, ())
        if was != now:
            yield job, was, now, ranks.index(job.priority) + 1


def thrown_away(job: Job, now: Assignments) -> int:
    """Milli-GPU-seconds: for a gang, of all that it held; for a service, of the replicas gone."""
    gone = [each for each in job.running if each not in now]
    if job.gang:
        gone = list(job.running) if gone or len(now) != len(job.running) else []
    milli = {role.name: role.shape.gpu_milli for role in job.roles}
    held = sum(milli.get(each.role, 0) * len(each.nodes) for each in gone)
    return held * job.stop_seconds


def assert_paid(problem: Problem) -> None:
    placements = solve_lean(problem, Effort(0.1)).placements
    priced = with_baseline(problem)
    if priced.baseline is None:
        assert not any(job.running for job in problem.jobs)
        return
    reclaimed = guaranteed_in_use(priced, least_use(priced, placements)) > guaranteed_in_use(
        priced, least_use(priced, priced.baseline)
    )
    event("reclaims a guarantee" if reclaimed else "no guarantee")
    is_calm = not any(thrown_away(job, placements.get(job.name, ())) for job in problem.jobs)
    event("throws nothing away" if is_calm else "throws something away")
    if not reclaimed:
        assert list(overspent(priced, placements)) == []
        lost, allowed = lost_by_the_budget(priced, placements), priced.loss_allowance
        event("loses within the budget" if lost and allowed is not None else "loses nothing")
        assert allowed is None or lost <= allowed


@given(problems(), sources)
def test_no_plan_throws_away_more_than_it_gains(problem: Problem, rng: Random) -> None:
    assert_paid(with_unsaved_work(problem, rng))


@given(broken_problems(), sources)
def test_nor_does_one_that_repairs_what_runs(problem: Problem, rng: Random) -> None:
    known = (job for job in problem.jobs if job.knows_its_roles)
    assert_paid(with_unsaved_work(replace(problem, jobs=tuple(known)), rng))
