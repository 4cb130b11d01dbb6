"""The node-level model: the true best of a scope, and nothing else is touched."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from plimsoll_placement.check import violations
from plimsoll_placement.cpsat.exact.scope import Scope
from plimsoll_placement.cpsat.exact.solving import ExactResult, solved
from plimsoll_placement.heuristics.baseline import with_baseline
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from support.problems.brute_force import best_score, combination_count
from support.problems.builders import (
    Placements,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    gang_on,
)
from support.problems.other_resources import with_other_resources
from support.problems.random_problems import random_problem
from support.problems.shared_gpus import with_gpu_memory
from support.project.tiers import quick_first

MOST_COMBINATIONS = 1000
SECONDS = 20.0


def whole(problem: Problem) -> Scope:
    """All that is not pinned."""
    jobs = tuple(job for job in problem.jobs if not job.pinned)
    rows = frozenset(range(len(problem.nodes)))
    return Scope(problem, greedy_placements(problem), jobs, rows)


def answer_of(scope: Scope, seconds: float = SECONDS) -> ExactResult:
    return solved(scope, score(scope.problem, scope.placements), seconds)


def with_answer(scope: Scope, answer: ExactResult) -> Placements:
    assert answer.assignments is not None
    return {**scope.outside, **answer.assignments}


@pytest.mark.parametrize("block", quick_first(range(10)))
def test_no_placements_are_better_than_those_proven_best(block: int) -> None:
    compared = 0
    for seed in range(20 * block, 20 * block + 20):
        problem = random_problem(seed, nodes=2 + seed % 2, jobs=2 + seed % 3)
        if not problem.jobs or combination_count(problem) > MOST_COMBINATIONS:
            continue
        scope = whole(problem)
        if not scope.jobs:
            continue
        answer = answer_of(scope)
        placements = with_answer(scope, answer) if answer.assignments is not None else scope.outside
        assert answer.is_proven
        assert violations(problem, placements) == ()
        assert score(problem, placements) == best_score(problem)
        compared += 1
    assert compared > 5


@pytest.mark.slow
@pytest.mark.parametrize("limited", [with_gpu_memory, with_other_resources])
def test_none_are_better_where_memory_of_shared_gpus_or_other_resources_bind(
    limited: Callable[[Problem, Random], Problem],
) -> None:
    compared = bound = 0
    for seed in range(50):
        plain = random_problem(seed, nodes=2, jobs=3)
        problem = limited(plain, Random(seed))
        scope = whole(problem)
        if problem == plain or combination_count(problem) > MOST_COMBINATIONS or not scope.jobs:
            continue
        answer = answer_of(scope)
        placements = with_answer(scope, answer) if answer.assignments is not None else scope.outside
        assert answer.is_proven
        assert violations(problem, placements) == ()
        assert score(problem, placements) == best_score(problem)
        compared, bound = compared + 1, bound + (best_score(plain) != best_score(problem))
    assert compared > 5
    assert bound


@pytest.mark.slow
@pytest.mark.parametrize("block", quick_first(range(3)))
def test_of_all_that_pay_for_what_they_throw_away_none_are_better(block: int) -> None:
    compared = bound = 0
    for seed in range(60 * block, 60 * block + 60):
        free = random_problem(seed, nodes=2 + seed % 2, jobs=2 + seed % 3)
        problem = with_baseline(free)
        if problem.baseline is None or combination_count(problem) > MOST_COMBINATIONS:
            continue
        scope, best = whole(problem), best_score(problem)
        if not scope.jobs or best.unpaid:
            continue
        answer = answer_of(scope)
        found = answer.assignments is not None
        placements = with_answer(scope, answer) if found else scope.placements
        assert answer.is_proven
        assert violations(problem, placements) == ()
        assert score(problem, placements) == best
        compared, bound = compared + 1, bound + (best_score(free) != best)
    assert compared > 5
    assert bound


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_the_score_of_what_is_proven_best(seed: int) -> None:
    problem = random_problem(seed, nodes=6, jobs=10)
    scope = whole(problem)
    answer = answer_of(scope)
    placements = with_answer(scope, answer)
    assert answer.is_proven
    assert violations(problem, placements) == ()
    assert score(problem, placements).levels == answer.bound


@pytest.mark.parametrize("seed", range(12))
def test_only_jobs_of_the_scope_change_and_only_onto_its_nodes(seed: int) -> None:
    problem = random_problem(seed, nodes=8, jobs=14)
    start = greedy_placements(problem)
    movable = [job for job in problem.jobs if not job.pinned]
    scope = Scope(problem, start, tuple(movable[::2]), frozenset({0, 1, 2}))
    answer = answer_of(scope)
    placements = with_answer(scope, answer)
    assert violations(problem, placements) == ()
    assert score(problem, placements) >= score(problem, start)
    assert score(problem, placements).levels == answer.bound
    for job in problem.jobs:
        held = placements.get(job.name, ())
        if job.name not in scope.names:
            assert held == start.get(job.name, ())
        allowed = {problem.nodes[row].name for row in scope.rows_of(job)}
        home = {name for assignment in job.running for name in assignment.nodes}
        assert {name for assignment in held for name in assignment.nodes} <= allowed | home


def test_the_same_scope_has_the_same_answer() -> None:
    scope = whole(random_problem(3, nodes=8, jobs=16))
    assert answer_of(scope) == answer_of(scope)


def test_without_time_there_is_no_answer() -> None:
    answer = answer_of(whole(random_problem(3, nodes=8, jobs=16)), 0.0)
    assert answer.assignments is None
    assert not answer.is_proven
    assert answer.bound == ()


def test_what_others_in_the_plan_hold_of_other_resources_is_not_there() -> None:
    worker = a_role(others=(("rdma/hca", 2),))
    jobs = [a_training_job(name, worker=worker) for name in ("held", "first", "second")]
    problem = a_problem([a_node(others=(("rdma/hca", 5),))], jobs)
    held = {JobName("held"): gang_on("n0")}
    scope = Scope(problem, held, problem.jobs[1:], frozenset({0}))
    placements = with_answer(scope, answer_of(scope))
    assert violations(problem, placements) == ()
    assert len(placements) == 2
    full = replace(problem, nodes=(a_node(others=(("rdma/hca", 3),)),))
    assert answer_of(Scope(full, held, full.jobs[1:], frozenset({0}))).assignments is None
