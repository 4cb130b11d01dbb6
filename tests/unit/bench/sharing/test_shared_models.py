"""What is measured of shared GPUs is where the operator's plan puts models, and is verified."""

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from plimsoll_bench.sharing.check import fluid_bound, mistakes, worst_pressure
from plimsoll_bench.sharing.exact import MOST_MODELS, is_possible_below
from plimsoll_bench.sharing.joint import groups, objects, planned
from plimsoll_bench.sharing.models import Groups, Instance, Model

STATES = 8000


def an_instance(*models: tuple[int, int], gpus: int = 2, memory: int = 80) -> Instance:
    """Models of given size and rate, each promised within a second."""
    return Instance(
        tuple(
            Model(f"m{place}", Fraction(size), Fraction(rate), Fraction(1))
            for place, (size, rate) in enumerate(models)
        ),
        gpus,
        Fraction(memory),
    )


def drawn(seed: int, gpus: int, models: int) -> Instance:
    rng = Random(seed)
    return Instance(
        tuple(
            Model(
                f"m{place:02}",
                Fraction(rng.randint(10, 29)),
                Fraction(rng.randint(0, 9)),
                Fraction(rng.randint(5, 9)),
            )
            for place in range(models)
        ),
        gpus,
        Fraction(80),
    )


def best_by_looking_at_all(instance: Instance) -> Fraction:
    """The least pressure of every way to hold all models."""
    found: list[Fraction] = []
    for gpu_of in product(range(instance.gpus), repeat=len(instance.models)):
        ways: Groups = tuple(
            tuple(m.name for m, at in zip(instance.models, gpu_of, strict=True) if at == gpu)
            for gpu in range(instance.gpus)
        )
        if not mistakes(instance, ways):
            found.append(worst_pressure(instance, ways))
    return min(found)


@pytest.mark.parametrize("seed", range(8))
def test_the_plan_is_proven_best_by_another_way(seed: int) -> None:
    instance = drawn(seed, gpus=2 + seed % 4, models=4 + seed % 8)
    found = groups(planned(objects(instance), STATES), instance)
    assert mistakes(instance, found) == ()
    assert not is_possible_below(instance, worst_pressure(instance, found))


@pytest.mark.parametrize("seed", range(10))
def test_the_reference_knows_the_best(seed: int) -> None:
    instance = drawn(seed, gpus=2, models=2 + seed % 5)
    best = best_by_looking_at_all(instance)
    assert not is_possible_below(instance, best)
    assert is_possible_below(instance, best * Fraction(1001, 1000) + Fraction(1, 10**6))
    assert fluid_bound(instance) <= best


def test_the_reference_refuses_too_many() -> None:
    with pytest.raises(ValueError, match="too many sets"):
        is_possible_below(drawn(0, gpus=9, models=MOST_MODELS + 1), Fraction(1))


def test_a_model_left_out_or_placed_twice_is_a_mistake() -> None:
    instance = an_instance((10, 1), (20, 1))
    assert mistakes(instance, (("m0",),)) == ("model m1 is placed 0 times, not 1",)
    assert mistakes(instance, (("m0", "m1"), ("m0",))) == ("model m0 is placed 2 times, not 1",)
    assert mistakes(instance, (("m0", "m1", "x"),)) == ("model x is placed 1 times, not 0",)


def test_more_gpus_or_more_memory_than_there_is_is_a_mistake() -> None:
    instance = an_instance((10, 1), (70, 1), gpus=1)
    assert mistakes(instance, (("m0",), ("m1",))) == ("2 GPUs are used of 1",)
    assert mistakes(instance, (("m0", "m1"),)) == ("GPU 0 holds 80 GB of 80",)


def test_the_worst_gpu_counts() -> None:
    instance = an_instance((10, 7), (20, 3))
    assert worst_pressure(instance, (("m0",), ("m1",))) == Fraction(7, 70)
