"""What must hold of every mix of GPUs, against trying all of them."""

import pytest
from hypothesis import assume, given

from plimsoll_bench.mix.check import mix_mistakes
from plimsoll_bench.mix.choosing import cheapest_mix
from plimsoll_bench.mix.greedy import cheapest_first
from plimsoll_placement.estimate.mix.problem import MixProblem, unserved_by_priority
from support.problems.mix_cases import mix_problems
from support.problems.mix_enumeration import best_score, way_count

MOST_WAYS = 1000


@given(mix_problems())
def test_every_mix_is_sound(problem: MixProblem) -> None:
    assert mix_mistakes(problem, cheapest_mix(problem)) == ()


@given(mix_problems(most_buckets=3))
def test_greedy_always_answers_within_the_supply(problem: MixProblem) -> None:
    assert mix_mistakes(problem, cheapest_first(problem)) == ()


@given(mix_problems())
def test_the_mix_is_the_best_of_all(problem: MixProblem) -> None:
    assume(way_count(problem) <= MOST_WAYS)
    mix = cheapest_mix(problem)
    left, microdollars = best_score(problem)
    reached = unserved_by_priority(problem, mix.served)
    assert reached == pytest.approx([float(each) for each in left], abs=1e-2)
    assert mix.microdollars == microdollars
    assert mix.is_least_unserved


@pytest.mark.slow
@given(mix_problems(most_buckets=3))
def test_no_mix_is_cheaper_than_the_bound_while_nothing_is_left(problem: MixProblem) -> None:
    greedy = cheapest_first(problem)
    assume(not any(unserved_by_priority(problem, greedy.served)))
    mix = cheapest_mix(problem)
    assert mix.bound_microdollars <= mix.microdollars <= greedy.microdollars
