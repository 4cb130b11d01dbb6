"""What runs stays the best, whatever it costs to stop it, where no job could do better anywhere."""

from dataclasses import replace
from random import Random

from hypothesis import event, given
from hypothesis import strategies as st

from plimsoll.planning.plan.validation import is_best
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve_lean
from support.problems.random_problems import random_problem

AT_ONCE = Effort(deterministic_seconds=0)


def all_placed(problem: Problem) -> Problem:
    """The problem as it stands once its solution was carried out, without the jobs that wait."""
    placements = solve_lean(problem, AT_ONCE).placements
    jobs = (replace(job, running=placements.get(job.name, ())) for job in problem.jobs)
    return replace(problem, jobs=tuple(job for job in jobs if job.running), baseline=None)


def with_other_costs(problem: Problem, rng: Random) -> Problem:
    costs = (0, 60, 3600, 10**6)
    jobs = (
        replace(job, restart_seconds=rng.choice(costs), payback_seconds=rng.choice((None, *costs)))
        for job in problem.jobs
    )
    return replace(problem, jobs=tuple(jobs))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_nothing_moves_because_stops_cost_something_else(seed: int, jobs: int) -> None:
    problem = all_placed(random_problem(seed, nodes=4, jobs=jobs))
    event(f"best: {is_best(problem)}")
    if is_best(problem):
        found = solve_lean(with_other_costs(problem, Random(seed)), AT_ONCE)
        assert found.placements == {job.name: job.running for job in problem.jobs}
