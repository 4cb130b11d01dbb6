from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from plimsoll_bench.sharing.placing import shared
from plimsoll_bench.sharing.pressure import fluid_bound
from plimsoll_bench.sharing.shared_models import Model, ModelName, Sharing, SharingProblem, Unshared

from plimsoll_bench.sharing.check import sharing_mistakes, worst_pressure


def a_problem(*models: tuple[int, int], gpus: int, memory: int = 80) -> SharingProblem:
    """Models of given size and load."""
    return SharingProblem(
        tuple(
            Model(ModelName(f"model-{place}"), size, Fraction(load))
            for place, (size, load) in enumerate(models)
        ),
        gpus,
        memory,
    )


def drawn_problem(seed: int, gpus: int, models: int) -> SharingProblem:
    rng = Random(seed)
    return SharingProblem(
        tuple(
            Model(
                ModelName(f"model-{place}"),
                rng.randint(10, 29),
                Fraction(rng.randint(0, 9), rng.randint(5, 9)),
            )
            for place in range(models)
        ),
        gpus,
        80,
    )


def best_by_looking_at_all(problem: SharingProblem) -> Fraction | None:
    """The least pressure of every way to hold all models; None if there is none."""
    found: list[Fraction] = []
    for gpu_of in product(range(problem.gpus), repeat=len(problem.models)):
        loads, free = [Fraction(0)] * problem.gpus, [problem.memory_bytes] * problem.gpus
        for model, gpu in zip(problem.models, gpu_of, strict=True):
            loads[gpu] += model.load
            free[gpu] -= model.size_bytes
        if all(left > 0 for left in free):
            found.append(max(load / left for load, left in zip(loads, free, strict=True)))
    return min(found, default=None)


def answer(problem: SharingProblem, most_states: int = 4000) -> Sharing:
    found = shared(problem, most_states)
    assert isinstance(found, Sharing)
    assert sharing_mistakes(problem, found) == ()
    return found


@pytest.mark.parametrize("seed", range(30))
def test_no_way_to_share_is_better_than_a_proven_one(seed: int) -> None:
    problem = drawn_problem(seed, gpus=1 + seed % 3, models=2 + seed % 5)
    best, found = best_by_looking_at_all(problem), shared(problem)
    if isinstance(found, Unshared):
        assert found.is_proven
        assert best is None
    else:
        assert sharing_mistakes(problem, found) == ()
        assert found.bound == found.pressure == best


@pytest.mark.parametrize("seed", range(12))
def test_as_many_as_nine_gpus_are_proven_best_within_the_states(seed: int) -> None:
    gpus = 5 + seed % 5
    found = answer(drawn_problem(100 + seed, gpus, 2 * gpus), most_states=8000)
    assert found.gap_percent == 0.0


def test_many_gpus_come_near_the_bound() -> None:
    problem = drawn_problem(7, gpus=60, models=120)
    found = answer(problem)
    fluid = fluid_bound(problem)
    assert fluid is not None
    assert fluid <= found.bound <= found.pressure
    assert found.gap_percent < 10


def test_the_same_problem_has_the_same_answer() -> None:
    problem = drawn_problem(3, gpus=20, models=45)
    assert shared(problem) == shared(problem)


def test_fewer_states_never_give_an_unsound_answer() -> None:
    problem = drawn_problem(5, gpus=10, models=26)
    coarse, fine = answer(problem, most_states=5), answer(problem, most_states=8000)
    assert fine.pressure <= coarse.pressure
    assert coarse.bound <= fine.pressure


def test_models_without_load_press_on_nothing() -> None:
    found = answer(a_problem((40, 0), (30, 0), (60, 0), gpus=2))
    assert found.pressure == found.bound == 0
    assert found.gap_percent == 0.0


def test_no_models_need_nothing() -> None:
    assert answer(a_problem(gpus=2)).pressure == 0


def test_a_model_as_large_as_a_gpu_leaves_no_memory_for_requests() -> None:
    assert shared(a_problem((80, 1), gpus=3)) == Unshared(is_proven=True)
    assert answer(a_problem((79, 1), gpus=3)).pressure == 1


def test_what_best_fit_cannot_hold_is_searched_for() -> None:
    # The heaviest first in the tightest GPU leaves 3 and 2 where 4 cannot go.
    problem = a_problem((6, 1), (5, 1), (5, 1), (4, 1), (4, 1), (4, 1), gpus=2, memory=15)
    assert isinstance(shared(problem), Sharing)


def test_a_heavy_load_is_kept_from_others() -> None:
    found = answer(a_problem((10, 10), (10, 1), (10, 1), gpus=2))
    assert ("model-0",) in found.groups


def the_answer() -> tuple[SharingProblem, Sharing]:
    problem = a_problem((10, 4), (20, 3), (30, 2), gpus=2)
    return problem, answer(problem)


def test_a_model_left_out_is_a_mistake() -> None:
    problem, found = the_answer()
    groups = tuple(tuple(n for n in group if n != "model-1") for group in found.groups)
    assert "model model-1 is placed 0 times, not 1" in sharing_mistakes(
        problem, replace(found, groups=groups)
    )


def test_a_model_placed_twice_is_a_mistake() -> None:
    problem, found = the_answer()
    groups = tuple((*dict.fromkeys((*group, ModelName("model-0"))),) for group in found.groups)
    assert "model model-0 is placed 2 times, not 1" in sharing_mistakes(
        problem, replace(found, groups=groups)
    )


def test_an_unknown_model_is_a_mistake() -> None:
    problem, found = the_answer()
    groups = (*found.groups[:-1], (*found.groups[-1], ModelName("stranger")))
    assert "model stranger is placed 1 times, not 0" in sharing_mistakes(
        problem, replace(found, groups=groups)
    )


def test_more_gpus_than_there_are_is_a_mistake() -> None:
    problem, found = the_answer()
    single = tuple((model.name,) for model in problem.models)
    mistakes = sharing_mistakes(problem, replace(found, groups=single))
    assert "3 GPUs are used of 2" in mistakes


def test_too_much_on_one_gpu_is_a_mistake() -> None:
    problem, found = the_answer()
    together = (tuple(model.name for model in problem.models),)
    tight = replace(problem, memory_bytes=60)
    mistakes = sharing_mistakes(tight, replace(found, groups=together))
    assert "GPU 0 holds 60 bytes of 60" in mistakes


def test_a_wrong_pressure_or_bound_is_a_mistake() -> None:
    problem, found = the_answer()
    worst = worst_pressure(problem, found)
    assert sharing_mistakes(problem, replace(found, pressure=worst / 2)) == (
        f"the pressure is {worst}, not {worst / 2}",
    )
    assert sharing_mistakes(problem, replace(found, bound=2 * worst)) == (
        f"the bound {2 * worst} is above the pressure {worst}",
    )
