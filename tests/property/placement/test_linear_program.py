"""What must hold of bounds that are cheap to have, and of plans by the linear program."""

from collections.abc import Sequence
from itertools import takewhile

import pytest
from hypothesis import assume, given

from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.lp.fluid import Fluid, relaxed_over_node_classes
from plimsoll_placement.lp.rounding import rounded
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import simple_bound
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Score
from support.problems.brute_force import combination_count, sound_scores
from support.problems.random_problems import random_problem
from support.problems.strategies import problems

MOST_COMBINATIONS = 1000
SECONDS = 5.0


def fluid(problem: Problem) -> Fluid:
    return Fluid.of(relaxed_over_node_classes(problem), SECONDS)


def is_broken(bound: Sequence[int | None], reached: Score, other: Score) -> bool:
    """Whether other placements exceed a bound of a level, being no worse in those before it."""
    levels = zip(bound, reached.levels, other.levels, strict=True)
    comparable = takewhile(lambda level: level[2] >= level[1], levels)
    first_worse = sum(1 for _ in comparable)
    looked_at = list(zip(bound, other.levels, strict=True))[: first_worse + 1]
    return any(most is not None and got > most for most, got in looked_at)


@given(problems())
def test_what_is_rounded_is_sound(problem: Problem) -> None:
    program = fluid(problem)
    values = program.best()
    assert values is not None
    assert violations(problem, rounded(program, values)) == ()


@given(problems(most_nodes=3, most_jobs=3))
def test_no_placements_exceed_a_bound(problem: Problem) -> None:
    assume(combination_count(problem) <= MOST_COMBINATIONS)
    reached = score(problem, greedy_placements(problem))
    bounds = (fluid(problem).bound(reached.levels), simple_bound(problem, reached).levels)
    for other in sound_scores(problem):
        assert not any(is_broken(bound, reached, other) for bound in bounds)


@pytest.mark.parametrize("seed", range(4))
def test_jobs_as_a_fluid_say_more_than_jobs_alone(seed: int) -> None:
    problem = random_problem(seed, nodes=30, jobs=80)
    reached = score(problem, greedy_placements(problem))
    alone, together = simple_bound(problem), fluid(problem).bound(reached.levels)
    pairs = [(a, t) for a, t in zip(alone.levels, together, strict=True) if t is not None]
    assert any(t < a for a, t in pairs)
