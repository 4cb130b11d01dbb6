"""What must hold of every solution, whatever the cluster and the jobs are."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, event, example, given, settings

from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics.baseline import with_baseline
from plimsoll_placement.heuristics.greedy import (
    Greedy,
    greedy_placements,
    is_within_fair_share,
)
from plimsoll_placement.heuristics.kinds import Claim
from plimsoll_placement.heuristics.scale_down import without_idle_replicas
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Outcome, Solution
from plimsoll_placement.solve import solve, solve_lean
from plimsoll_placement.state.holding import ledger_after
from support.problems.brute_force import best_score, combination_count
from support.problems.random_problems import random_problem
from support.problems.strategies import problems, shuffled, sources

MOST_COMBINATIONS = 3000
MOST_PLANS = 5
RESTLESS_SEEDS = (
    *(
        170,
        199,
        263,
        265,
        297,
        565,
        714,
        1031,
        1203,
        1266,
        1688,
        1791,
        1881,
        2096,
        2521,
        2627,
        2776,
    ),
    *(3491, 3942, 4177, 4218, 4614),
)
"""Problems of 4 nodes and 5 jobs that were once planned anew though nothing was gained by it."""


def after(problem: Problem, solution: Solution) -> Problem:
    """The problem as it stands once the solution was carried out."""
    jobs = tuple(
        replace(job, running=solution.placements.get(job.name, ())) for job in problem.jobs
    )
    return replace(problem, jobs=jobs, baseline=None)


def held(solution: Solution) -> dict[str, frozenset[object]]:
    return {name: frozenset(has) for name, has in solution.placements.items() if has}


@given(problems())
def test_every_solution_is_sound(problem: Problem) -> None:
    assert violations(problem, solve(problem).placements) == ()


@settings(max_examples=5 * settings().max_examples)
@given(problems())
def test_greedy_alone_is_sound(problem: Problem) -> None:
    assert violations(problem, greedy_placements(problem)) == ()


@given(problems())
def test_a_solution_says_its_true_score_and_a_bound_above_it(problem: Problem) -> None:
    solution = solve(problem)
    event(f"outcome {solution.outcome}")
    assert solution.score == score(with_baseline(problem), solution.placements)
    assert solution.bound >= solution.score


@given(problems(), sources)
def test_where_jobs_are_soon_done_scores_and_bounds_are_true_as_well(
    problem: Problem, rng: Random
) -> None:
    counts = (None, 0, 60_000, 360_000)
    jobs = tuple(replace(job, payback_seconds=rng.choice(counts)) for job in problem.jobs)
    soon = with_baseline(replace(problem, jobs=jobs))
    solution = solve(soon)
    assert violations(soon, solution.placements) == ()
    assert solution.score == score(soon, solution.placements)
    assert solution.bound >= solution.score >= score(soon, greedy_placements(soon))
    second = solve(after(soon, solution))
    if held(second) != held(solution):
        assert solution.outcome is not Outcome.OPTIMAL
        assert second.score > score(with_baseline(after(soon, solution)), solution.placements)


@given(problems())
def test_a_solution_is_never_worse_than_greedy(problem: Problem) -> None:
    problem = with_baseline(problem)
    assert solve(problem).score >= score(problem, greedy_placements(problem))


@given(problems())
def test_a_solution_is_never_worse_than_what_runs_where_that_may_go_on(problem: Problem) -> None:
    running = {job.name: job.running for job in problem.jobs if job.running}
    assume(not violations(problem, running))
    problem = with_baseline(problem)
    assert solve(problem).score >= score(problem, running)


@given(problems())
def test_pinned_jobs_stay_and_no_gang_is_split(problem: Problem) -> None:
    placements = solve(problem).placements
    for job in problem.jobs:
        placed = placements.get(job.name, ())
        if job.pinned:
            assert set(placed) == set(job.running)
        elif job.gang and placed:
            sizes = zip(*(role.counts for role in job.roles), strict=True)
            assert tuple(sum(a.role == role.name for a in placed) for role in job.roles) in sizes
            for role in job.roles:
                mine = [assignment for assignment in placed if assignment.role == role.name]
                assert {len(assignment.nodes) for assignment in mine} <= {role.pods_per_replica}
                assert len({assignment.gpu_type for assignment in mine}) <= 1


def assert_settled(problem: Problem) -> None:
    """Planned again once its plan is carried out, nothing changes but for the better; soon it ends.

    Where changes have a price, a plan is the best that pays for them. Once it is carried out others
    may pay: what is compared with is then another baseline, and so may be what is guaranteed.
    """
    plan = solve_lean(problem)
    for _ in range(MOST_PLANS):
        has_price = with_baseline(problem).baseline is not None
        problem = after(problem, plan)
        again = solve_lean(problem)
        if held(again) == held(plan):
            return
        assert has_price or plan.outcome is not Outcome.OPTIMAL
        assert again.score > score(with_baseline(problem), plan.placements)
        plan = again
    raise AssertionError(f"still planned anew after {MOST_PLANS} plans")


@given(problems())
@example(random_problem(10, nodes=6, jobs=8)).via("a search leaves room")
@example(random_problem(1023, nodes=3, jobs=4)).via("what runs is better, and leaves room")
def test_nobody_waits_beside_room_that_fair_shares_allow(problem: Problem) -> None:
    placements = solve_lean(problem, Effort(0.1)).placements
    for job in problem.jobs:
        if job.pinned or placements.get(job.name):
            continue
        ledger = ledger_after(problem, placements)
        Greedy(problem, ledger).place(job, Claim.FREE)
        if job.name in ledger.placed and is_within_fair_share(ledger, job):
            event("there is room")
            assert score(problem, ledger.placed) <= score(problem, placements)


@given(problems())
def test_no_lean_plan_adds_replicas_that_can_be_spared(problem: Problem) -> None:
    placements = solve_lean(problem, Effort(0.1)).placements
    lighter = without_idle_replicas(problem, placements)
    assert lighter == placements or violations(problem, lighter)


@given(problems())
def test_planning_twice_changes_nothing_but_for_the_better(problem: Problem) -> None:
    assert_settled(problem)


@pytest.mark.slow
@pytest.mark.parametrize("seed", RESTLESS_SEEDS)
def test_planning_twice_settles_what_was_restless_once(seed: int) -> None:
    assert_settled(random_problem(seed, nodes=4, jobs=5))


@given(problems())
def test_the_same_problem_has_the_same_solution(problem: Problem) -> None:
    assert solve(problem) == solve(problem)


@given(problems(), sources)
def test_the_order_of_input_does_not_matter(problem: Problem, rng: Random) -> None:
    first, second = solve(problem).score, solve(shuffled(problem, rng)).score
    # What a reclaimed guarantee costs is searched for, but not proven to be the least.
    is_priced = first.levels[0] == second.levels[0] and (first.unpaid or second.unpaid)
    event("a guarantee has its price" if is_priced else "nothing is unpaid")
    assert is_priced or first == second


@settings(max_examples=2 * settings().max_examples)
@given(problems(most_nodes=3, most_jobs=3))
def test_no_placements_are_better_than_the_bound(problem: Problem) -> None:
    assume(combination_count(problem) <= MOST_COMBINATIONS)
    solution, best = solve(problem), best_score(with_baseline(problem))
    event("best found" if solution.score == best else "best missed")
    assert solution.score <= best <= solution.bound
    if solution.outcome is Outcome.OPTIMAL:
        assert solution.score == best


@pytest.mark.slow
def test_larger_clusters_are_solved_soundly_and_no_worse_than_by_greedy() -> None:
    for seed in range(3):
        problem = with_baseline(random_problem(seed, nodes=30, jobs=60))
        solution = solve(problem, Effort(deterministic_seconds=0.3))
        assert violations(problem, solution.placements) == ()
        assert score(problem, greedy_placements(problem)) <= solution.score <= solution.bound
