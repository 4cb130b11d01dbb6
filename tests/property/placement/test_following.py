"""Problems that follow each other: what is remembered of one changes nothing of the next.

Each problem is solved, verified and scored by what is known of those before it, and again as if
none had been before.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import example, given, settings

from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.memory import Memory
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import simple_bound
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import Solver, solve, solve_lean
from support.problems.broken_rules import CHANGES
from support.problems.random_clusters import chance
from support.problems.random_problems import drawn_problem, random_placement
from support.problems.strategies import sources

STEPS = 4
AT_ONCE = Effort(deterministic_seconds=0)


def with_some_of(rng: Random, whole: Problem, now: Problem, solution: Solution) -> Problem:
    """The plan carried out, mostly; then some jobs are gone and others there, or a rule changed."""
    placements = solution.placements
    jobs = tuple(
        replace(job, running=placements.get(job.name, ())) if chance(rng, 90) else job
        for job in now.jobs
        if chance(rng, 90)
    )
    names = {job.name for job in now.jobs}
    are_same = len(now.nodes) == len(whole.nodes)
    come = tuple(
        job for job in whole.jobs if are_same and job.name not in names and chance(rng, 50)
    )
    after = replace(now, jobs=(*jobs, *come), baseline=None)
    return rng.choice(CHANGES)(rng, after) if chance(rng, 30) else revalued(rng, after)


def revalued(rng: Random, problem: Problem) -> Problem:
    """Some nodes cost more, or are closed for a while; and perhaps the policy weighs otherwise."""
    nodes = (
        replace(
            node,
            microdollars_per_gpu_hour=node.microdollars_per_gpu_hour * 5 // 4,
            open=chance(rng, 80),
        )
        if chance(rng, 30)
        else node
        for node in problem.nodes
    )
    weights = problem.weights
    if chance(rng, 20):
        weights = replace(
            weights,
            gpu_seconds_per_dollar=rng.choice((0, 20, 900)),
            horizon_seconds=rng.choice((600, 7200)),
            topology_percent=rng.choice((0, 40)),
        )
    return replace(problem, nodes=tuple(nodes), weights=weights)


def steps(rng: Random, *, nodes: int, jobs: int) -> Iterator[tuple[Problem, Solver]]:
    whole = drawn_problem(rng, nodes=nodes, jobs=jobs, companions=chance(rng, 30))
    problem, solver = whole, Solver()
    for _ in range(STEPS):
        yield problem, solver
        problem = with_some_of(rng, whole, problem, solver.solve(problem, AT_ONCE))


@example(Random(0))
@given(sources)
@settings(max_examples=2 * settings().max_examples // 5)
def test_a_plan_is_that_of_a_problem_without_predecessors(rng: Random) -> None:
    for problem, solver in steps(rng, nodes=rng.choice((2, 5, 9)), jobs=rng.choice((3, 9, 16))):
        assert solver.solve(problem, AT_ONCE) == solve(problem, AT_ONCE)
        assert solver.solve_lean(problem, AT_ONCE) == solve_lean(problem, AT_ONCE)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_so_it_is_among_hundreds_of_jobs(seed: int) -> None:
    for problem, solver in steps(Random(seed), nodes=40, jobs=350):
        assert solver.solve(problem, AT_ONCE) == solve(problem, AT_ONCE)


@given(sources)
@settings(max_examples=2 * settings().max_examples // 5)
def test_a_verdict_a_score_and_a_bound_are_those_without_predecessors(rng: Random) -> None:
    memory = Memory()
    for problem, _ in steps(rng, nodes=4, jobs=8):
        runs = {job.name: job.running for job in problem.jobs}
        other = {job.name: random_placement(rng, problem, job) for job in problem.jobs}
        for placements in (runs, other):
            known = problem.remembered(memory)
            assert set(violations(known, placements)) == set(violations(problem, placements))
            if all(job.knows_its_roles for job in problem.jobs):
                reached = score(problem, placements)
                assert score(known, placements) == reached
                assert simple_bound(known, reached) == simple_bound(problem, reached)
