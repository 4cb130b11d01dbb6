"""The largest pressure on shared GPUs is least, as far as the bound says."""

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from plimsoll_placement.sharing.pressure import is_allowed, largest
from plimsoll_placement.sharing.problem import (
    Groups,
    SharedGpu,
    Sharer,
    Sharing,
    SharingProblem,
    Unshared,
)
from plimsoll_placement.sharing.sharing import shared


def a_gpu(memory: int = 80, load: int = 0, room: int = 100) -> SharedGpu:
    return SharedGpu(memory, load, room, memory)


def a_problem(*sharers: tuple[int, int], gpus: int, memory: int = 80) -> SharingProblem:
    """Replicas of given weights and load on GPUs that are alike and vacant."""
    mask = (1 << gpus) - 1
    return SharingProblem(
        tuple(Sharer(size, load, mask) for size, load in sharers), (a_gpu(memory),) * gpus
    )


def drawn_problem(seed: int, gpus: int, sharers: int) -> SharingProblem:
    rng = Random(seed)
    drawn = ((rng.randint(10, 29), rng.randint(0, 2520)) for _ in range(sharers))
    return a_problem(*drawn, gpus=gpus)


def uneven_problem(seed: int) -> SharingProblem:
    """GPUs that differ in what stays there and in room, and replicas that may not be on all."""
    rng = Random(seed)
    gpus = tuple(
        a_gpu(rng.randint(40, 80), rng.choice((0, rng.randint(0, 30))), rng.randint(0, 3))
        for _ in range(rng.randint(1, 4))
    )
    sharers = tuple(
        Sharer(rng.randint(5, 40), rng.randint(0, 30), rng.randrange(1, 1 << len(gpus)))
        for _ in range(rng.randint(1, 5))
    )
    return SharingProblem(sharers, gpus)


def best_by_looking_at_all(problem: SharingProblem) -> Fraction | None:
    """The least largest pressure of every way to seat all; None if there is none."""
    found: list[Fraction] = []
    for gpu_of in product(range(len(problem.gpus)), repeat=len(problem.sharers)):
        groups = tuple(
            tuple(s for s, at in enumerate(gpu_of) if at == gpu) for gpu in range(len(problem.gpus))
        )
        worst = Fraction(0)
        for gpu, group in zip(problem.gpus, groups, strict=True):
            free = gpu.memory_bytes - sum(problem.sharers[s].weights_bytes for s in group)
            load = gpu.load + sum(problem.sharers[s].load for s in group)
            if group:
                worst = max(worst, Fraction(load, free)) if free > 0 else Fraction(10**9)
        if worst < 10**9 and is_allowed(problem, groups):
            found.append(worst)
    return min(found, default=None)


def answer(
    problem: SharingProblem, most_states: int = 8000, start: Groups | None = None
) -> Sharing:
    found = shared(problem, start, most_states)
    assert isinstance(found, Sharing)
    assert sorted(s for group in found.groups for s in group) == [*range(len(problem.sharers))]
    assert is_allowed(problem, found.groups)
    assert largest(problem, found.groups) == found.pressure >= found.bound
    return found


@pytest.mark.parametrize("seed", range(30))
def test_no_way_to_share_is_better_than_a_proven_one(seed: int) -> None:
    problem = drawn_problem(seed, gpus=1 + seed % 3, sharers=2 + seed % 5)
    best = best_by_looking_at_all(problem)
    if best is None:
        assert shared(problem) == Unshared(is_proven=True)
    else:
        found = answer(problem)
        assert found.bound == found.pressure == best


@pytest.mark.parametrize("seed", range(60))
def test_the_best_is_found_among_gpus_that_differ(seed: int) -> None:
    problem = uneven_problem(seed)
    best = best_by_looking_at_all(problem)
    if best is None:
        assert shared(problem) == Unshared(is_proven=True)
    else:
        found = answer(problem)
        assert found.bound == found.pressure == best


@pytest.mark.parametrize("seed", range(12))
def test_as_many_as_nine_gpus_are_proven_best_within_the_states(seed: int) -> None:
    gpus = 5 + seed % 5
    found = answer(drawn_problem(100 + seed, gpus, 2 * gpus))
    assert found.pressure == found.bound


def test_many_gpus_come_near_the_bound() -> None:
    found = answer(drawn_problem(7, gpus=60, sharers=120))
    assert found.pressure < Fraction(11, 10) * found.bound


def test_the_same_problem_has_the_same_answer() -> None:
    problem = drawn_problem(3, gpus=20, sharers=45)
    assert shared(problem) == shared(problem)


def test_fewer_states_never_give_an_unsound_answer() -> None:
    problem = drawn_problem(5, gpus=10, sharers=26)
    coarse, fine = answer(problem, most_states=5), answer(problem)
    assert fine.pressure <= coarse.pressure
    assert coarse.bound <= fine.pressure


def test_an_answer_is_never_worse_than_the_start() -> None:
    problem = drawn_problem(5, gpus=300, sharers=600)
    start = tuple((2 * gpu, 2 * gpu + 1) for gpu in range(300))
    found = answer(problem, 50, start)
    before = largest(problem, start)
    assert before is not None
    assert found.pressure <= before


def test_replicas_without_load_press_on_nothing() -> None:
    found = answer(a_problem((40, 0), (30, 0), (60, 0), gpus=2))
    assert found.pressure == found.bound == 0


def test_nobody_needs_nothing() -> None:
    assert answer(a_problem(gpus=2)).pressure == 0


def test_weights_as_large_as_a_gpu_leave_no_memory_for_requests() -> None:
    assert shared(a_problem((80, 1), gpus=3)) == Unshared(is_proven=True)
    assert answer(a_problem((79, 1), gpus=3)).pressure == 1


def test_what_best_fit_cannot_hold_is_searched_for() -> None:
    # The heaviest first in the tightest GPU leaves 3 and 2 where 4 cannot go.
    problem = a_problem((6, 1), (5, 1), (5, 1), (4, 1), (4, 1), (4, 1), gpus=2, memory=15)
    assert isinstance(shared(problem), Sharing)


def test_a_heavy_load_is_kept_from_others() -> None:
    found = answer(a_problem((10, 10), (10, 1), (10, 1), gpus=2))
    assert (0,) in found.groups
