"""What must hold where weights and loads of what shares GPUs are known."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solve import solve, solve_lean
from support.problems.shared_gpus import with_gpu_memory
from support.problems.strategies import problems

AT_ONCE = Effort(deterministic_seconds=0)


def sharing_problems(most_nodes: int = 8, most_jobs: int = 8) -> SearchStrategy[Problem]:
    drawn = problems(most_nodes=most_nodes, most_jobs=most_jobs)
    return st.builds(with_gpu_memory, drawn, st.randoms(use_true_random=False))


@given(sharing_problems())
def test_every_solution_is_sound(problem: Problem) -> None:
    assert violations(problem, greedy_placements(problem)) == ()
    assert violations(problem, solve(problem).placements) == ()
    assert violations(problem, solve_lean(problem).placements) == ()


@given(sharing_problems())
def test_the_same_problem_has_the_same_solution(problem: Problem) -> None:
    assert solve_lean(problem, AT_ONCE) == solve_lean(problem, AT_ONCE)


@given(sharing_problems())
def test_seating_costs_no_more_than_its_moves(problem: Problem) -> None:
    """Who starts where is worth the same; what moves is told."""
    found = solve_lean(problem, AT_ONCE)
    kept = replace(problem, baseline=None)
    if not found.reseated:
        assert score(kept, found.placements).levels == found.score.levels
    for job in problem.jobs:
        if job.pinned:
            assert job.name not in found.reseated
