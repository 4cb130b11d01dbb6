from dataclasses import replace

import pytest

from plimsoll_bench.mix.check import mix_mistakes
from plimsoll_bench.mix.choosing import cheapest_mix
from plimsoll_bench.mix.greedy import cheapest_first
from plimsoll_bench.mix.scip import Effort
from plimsoll_placement.estimate.mix.problem import MixProblem, unserved, unserved_by_priority
from support.problems.mix_cases import BIG, SMALL, a_model, a_problem, an_option, dollars, replicas

PLENTY = {BIG: 100, SMALL: 100}


def left(problem: MixProblem) -> list[float]:
    """What each model is short of."""
    mix = cheapest_mix(problem)
    return [sum(unserved(m, s)) for m, s in zip(problem.models, mix.served, strict=True)]


def test_a_small_rest_goes_to_a_small_replica() -> None:
    options = (an_option(64, 10, pool=BIG), an_option(8, 3))
    problem = a_problem(a_model(70, *options), supply=PLENTY)
    assert replicas(cheapest_mix(problem)) == [(1, 1)]
    assert replicas(cheapest_first(problem)) == [(2, 0)]


def test_what_is_scarce_goes_to_the_model_that_cannot_do_without() -> None:
    picky = a_model(10, an_option(10, 5, pool=BIG), name="picky")
    easy = a_model(10, an_option(10, 4, pool=BIG), an_option(10, 6), name="easy")
    problem = a_problem(easy, picky, supply={BIG: 1, SMALL: 1})
    mix = cheapest_mix(problem)
    assert replicas(mix) == [(0, 1), (1,)]
    assert unserved_by_priority(problem, cheapest_first(problem).served) == (10,)


def test_a_replica_of_two_gpus_takes_two_from_the_supply() -> None:
    pair = an_option(10, 1, pool=BIG, gpus=2)
    problem = a_problem(a_model(20, pair), supply={BIG: 3})
    assert replicas(cheapest_mix(problem)) == [(1,)]
    assert left(problem) == [10]


def test_too_little_supply_says_who_is_short_and_by_how_much() -> None:
    models = [a_model(30, an_option(10, 1), name=name) for name in ("a", "b")]
    problem = a_problem(*models, supply={SMALL: 4})
    mix = cheapest_mix(problem)
    assert sum(left(problem)) == 20
    assert mix.is_least_unserved


def test_a_higher_priority_is_served_first_though_it_carries_less() -> None:
    low = a_model(100, an_option(100, 1), name="low")
    high = a_model(10, an_option(10, 9), name="high", priority=1)
    problem = a_problem(low, high, supply={SMALL: 1})
    assert left(problem) == [100, 0]


def test_as_much_is_served_for_the_least() -> None:
    model = a_model(30, an_option(10, 5), an_option(10, 4, pool=BIG))
    problem = a_problem(model, supply={SMALL: 2, BIG: 1})
    assert dollars(cheapest_mix(problem)) == 14
    scarce = a_problem(a_model(90, *model.options), supply={SMALL: 1, BIG: 1})
    assert (left(scarce), dollars(cheapest_mix(scarce))) == ([70], 9)


def test_small_requests_go_to_the_small_type_and_large_ones_to_the_big() -> None:
    options = (an_option((20, 10), 10, pool=BIG), an_option((10, 1), 3))
    problem = a_problem(a_model((40, 20), *options), supply=PLENTY)
    mix = cheapest_mix(problem)
    assert replicas(mix) == [(2, 4)]
    assert [round(load) for loads in mix.served[0].loads for load in loads] == [0, 20, 40, 0]


def test_a_replicas_time_is_shared_between_buckets() -> None:
    problem = a_problem(a_model((15, 5), an_option((30, 10), 1)), supply=PLENTY)
    assert replicas(cheapest_mix(problem)) == [(1,)]
    assert replicas(cheapest_first(problem)) == [(1,)]


def test_spot_is_a_pool_with_a_price_and_a_supply_of_its_own() -> None:
    spot = an_option(10, 1, pool=BIG)
    problem = a_problem(a_model(30, spot, an_option(10, 3)), supply={BIG: 2, SMALL: 9})
    assert replicas(cheapest_mix(problem)) == [(2, 1)]


def test_a_model_that_nothing_can_run_is_short_of_all() -> None:
    lost, fine = a_model(7, name="lost"), a_model(7, an_option(7, 1), name="fine")
    assert left(a_problem(lost, fine, supply=PLENTY)) == [7, 0]
    assert left(a_problem(a_model(7, an_option(7, 1)), supply={})) == [7]


def test_no_load_costs_nothing() -> None:
    mix = cheapest_mix(a_problem(a_model(0, an_option(7, 1)), supply=PLENTY))
    assert (mix.microdollars, mix.gap_percent) == (0, 0)


def test_a_search_cut_short_still_answers_and_says_its_gap() -> None:
    options = [an_option(7 + 3 * n, 5 + 2 * n, pool=(BIG, SMALL)[n % 2]) for n in range(6)]
    models = [a_model(301 + 17 * n, *options[n % 3 :], name=f"m{n}") for n in range(12)]
    problem = a_problem(*models, supply={BIG: 210, SMALL: 140})
    mix = cheapest_mix(problem, Effort(nodes=1))
    whole = cheapest_mix(problem)
    assert mix_mistakes(problem, mix) == ()
    assert whole.gap_percent == 0 < mix.gap_percent < 5
    assert mix.bound_microdollars <= whole.microdollars <= mix.microdollars


def test_the_same_problem_has_the_same_answer() -> None:
    models = [a_model(90 + n, an_option(7, 3), an_option(9, 4, pool=BIG)) for n in range(4)]
    problem = a_problem(*models, supply={BIG: 30, SMALL: 30})
    assert cheapest_mix(problem) == cheapest_mix(problem)


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ({"microdollars": 1}, "the cost is 6000000 micro-dollars"),
        ({"bound_microdollars": 7_000_000}, "the bound 7000000 is above the cost"),
        ({"served": ()}, "0 models are answered for, not 1"),
    ],
)
def test_the_verifier_sees_what_is_misstated(change: dict[str, int], mistake: str) -> None:
    problem = a_problem(a_model(20, an_option(10, 3)), supply=PLENTY)
    wrong = replace(cheapest_mix(problem), **change)  # pyright: ignore[reportArgumentType]
    assert any(mistake in each for each in mix_mistakes(problem, wrong))


@pytest.mark.parametrize(
    ("replica_count", "load", "supply", "mistake"),
    [
        (1, 20.0, 9, "needs 2.0 replicas of option 0, not 1"),
        (3, 21.0, 9, "carries 21.0 of bucket 0, which has 20"),
        (2, 20.0, 1, "pool T4 gives 2 GPUs of 1"),
    ],
)
def test_the_verifier_sees_what_cannot_be(
    replica_count: int, load: float, supply: int, mistake: str
) -> None:
    problem = a_problem(a_model(20, an_option(10, 3)), supply={SMALL: supply})
    mix = cheapest_mix(a_problem(*problem.models, supply=PLENTY))
    served = replace(mix.served[0], replicas=(replica_count,), loads=((load,),))
    assert any(mistake in each for each in mix_mistakes(problem, replace(mix, served=(served,))))
