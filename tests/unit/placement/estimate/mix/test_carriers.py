"""What a router that sends each size to one GPU type alone has to pay."""

import random
from itertools import product

import pytest

from plimsoll_placement.estimate.mix.carriers import cheapest_carriers, cost_of, replicas_of
from plimsoll_placement.estimate.mix.problem import Model
from support.problems.mix_cases import BIG, SMALL, a_model, an_option

BIG_ONE = an_option((10, 10), 4, pool=BIG)
SMALL_ONE = an_option((10, 1), 1, pool=SMALL)


def test_each_size_goes_to_the_type_that_is_cheapest_for_it() -> None:
    model = a_model((30, 20), BIG_ONE, SMALL_ONE)
    assert cheapest_carriers(model) == (1, 0)
    assert replicas_of(model, (1, 0)) == {1: 3, 0: 2}


def test_sizes_stay_together_where_a_replica_would_be_idle_otherwise() -> None:
    assert cheapest_carriers(a_model((5, 5), BIG_ONE, an_option((10, 1), 3))) == (0, 0)


def test_a_size_that_a_type_does_not_carry_is_not_sent_there() -> None:
    only_short = an_option((10, 0), 1)
    assert cheapest_carriers(a_model((5, 5), only_short, BIG_ONE)) == (1, 1)
    assert cheapest_carriers(a_model((50, 5), only_short, BIG_ONE)) == (0, 1)
    assert cheapest_carriers(a_model((5, 5), only_short)) is None


def test_nothing_carries_without_options() -> None:
    assert cheapest_carriers(a_model((5, 5))) is None


@pytest.mark.slow
def test_the_search_seldom_misses_the_cheapest_and_never_pays_more_than_one_type_alone() -> None:
    chance = random.Random(7)
    missed = 0
    for _ in range(200):
        model = _random_model(chance)
        best = min(_costs(model), default=None)
        found = cheapest_carriers(model)
        cost = cost_of(model, found) if found is not None else None
        assert (cost is None) == (best is None)
        if cost is None or best is None:
            continue
        alone = (cost_of(model, (place,) * 3) for place in range(len(model.options)))
        assert cost <= min((each for each in alone if each is not None), default=cost)
        missed += cost > best
        assert cost <= 1.25 * best
    assert missed <= 10


def _costs(model: Model) -> list[int]:
    every = product(range(len(model.options)), repeat=len(model.loads))
    return [cost for carriers in every if (cost := cost_of(model, carriers)) is not None]


def _random_model(chance: random.Random) -> Model:
    options = [
        an_option([chance.choice((0, 1, 2, 5, 9)) for _ in range(3)], chance.randint(1, 9))
        for _ in range(4)
    ]
    return a_model([chance.randint(0, 60) for _ in range(3)], *options)
