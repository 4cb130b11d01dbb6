"""GPU types that jobs are bound to are left to them by jobs that may run anywhere."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import Arrival, GpuType, JobName, Shape
from plimsoll_placement.state.scarcity import (
    BOUND_GPU_MILLI,
    MOST_TIMES_OVER,
    scarcity_prices,
)
from support.problems.builders import A100, H100, L4, a_node, a_problem, a_role, a_training_job

IDLE = {A100: 4000, H100: 4000}


def came(pods: int, *types: GpuType) -> Arrival:
    return Arrival(Shape(1000), frozenset(types), pods)


def test_only_what_some_pods_are_bound_to_has_a_price() -> None:
    prices = scarcity_prices([came(1, A100), came(1, A100, H100)], IDLE)
    assert prices[A100] > 0
    assert prices[H100] == 0


def test_the_price_of_a_type_rises_as_it_runs_out() -> None:
    arrivals = [came(1, A100), came(1, A100, H100)]
    left = scarcity_prices(arrivals, {**IDLE, A100: 1000})
    assert left[A100] > scarcity_prices(arrivals, IDLE)[A100]


def test_a_type_that_all_its_idle_gpus_are_asked_for_of_costs_a_tenth_of_a_gpu() -> None:
    prices = scarcity_prices([came(1, A100), came(1, H100)], IDLE)
    assert prices == {A100: pytest.approx(BOUND_GPU_MILLI / 1000), H100: pytest.approx(0.1)}


def test_what_may_run_on_all_types_that_there_are_is_not_bound() -> None:
    assert not any(scarcity_prices([came(5, A100, H100, L4)], IDLE).values())


@given(
    st.lists(st.tuples(st.integers(0, 50), st.sets(st.sampled_from([A100, H100, L4])))),
    st.dictionaries(st.sampled_from([A100, H100]), st.integers(0, 9000)),
)
def test_prices_are_bounded_whatever_came(
    arrivals: list[tuple[int, set[GpuType]]], idle: dict[GpuType, int]
) -> None:
    prices = scarcity_prices([came(pods, *types) for pods, types in arrivals], idle)
    assert prices.keys() == idle.keys()
    assert all(0 <= each <= MOST_TIMES_OVER * BOUND_GPU_MILLI / 1000 for each in prices.values())


def test_a_job_that_runs_anywhere_leaves_the_type_that_others_are_bound_to() -> None:
    nodes = [a_node("a-scarce", gpu_type=A100), a_node("z-plenty")]
    job = a_training_job("any", worker=a_role(rates={A100: 100, H100: 100}))
    problem = replace(a_problem(nodes, [job]), past=(came(1, A100), came(1, A100, H100)))
    assert greedy_placements(problem)[JobName("any")][0].gpu_type == H100


def test_a_better_yield_outweighs_any_scarcity() -> None:
    nodes = [a_node("a-scarce", gpu_type=A100), a_node("z-plenty")]
    job = a_training_job("any", worker=a_role(rates={A100: 101, H100: 100}))
    problem = replace(a_problem(nodes, [job]), past=(came(9, A100),))
    assert greedy_placements(problem)[JobName("any")][0].gpu_type == A100
