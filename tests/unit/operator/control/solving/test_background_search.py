"""The search of the whole, by a solver in a process of its own."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from plimsoll.control.solving.background_search import BackgroundSearch
from plimsoll.control.solving.solver_process import SolverProcess, patience_seconds
from plimsoll.planning.problem.build import PlanInput
from plimsoll_placement.effort import Effort
from plimsoll_placement.explain import Feasibility
from support.problems.builders import a_problem, a_training_job, some_nodes
from support.programs.asynchronous import asynchronous, until

EFFORT = Effort(deterministic_seconds=0.2)


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with closing(SolverProcess()) as solver:
        yield solver


def plan_input_of(jobs: int) -> PlanInput:
    problem = a_problem(some_nodes(2), [a_training_job(f"j{index}") for index in range(jobs)])
    return PlanInput(problem, (), Feasibility(problem))


class Woken:
    """How often the loop was woken."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@asynchronous
async def test_what_is_found_is_returned_once_with_its_plan_input(solver: SolverProcess) -> None:
    woken = Woken()
    search = BackgroundSearch(solver, woken)
    search.want()
    search.begin(plan_input_of(3), EFFORT)
    assert search.take_result() is None
    await until(lambda: woken.times)
    found = search.take_result()
    assert found is not None
    assert found.problem == plan_input_of(3).problem
    assert found.solution.placements.keys() == {"j0", "j1", "j2"}
    assert search.take_result() is None


@asynchronous
async def test_a_search_goes_on_while_others_are_wanted(solver: SolverProcess) -> None:
    woken = Woken()
    search = BackgroundSearch(solver, woken)
    search.want()
    search.begin(plan_input_of(3), EFFORT)
    search.want()
    search.begin(plan_input_of(4), EFFORT)
    await until(lambda: woken.times)
    first = search.take_result()
    search.begin(plan_input_of(4), EFFORT)
    await until(lambda: woken.times > 1)
    second = search.take_result()
    assert first is not None
    assert second is not None
    assert (len(first.problem.jobs), len(second.problem.jobs)) == (3, 4)


@asynchronous
async def test_a_search_ends_when_the_whole_was_looked_at(solver: SolverProcess) -> None:
    woken = Woken()
    search = BackgroundSearch(solver, woken)
    search.want()
    search.begin(plan_input_of(3), EFFORT)
    search.end()
    await until(lambda: woken.times)
    assert search.take_result() is None


@asynchronous
async def test_nothing_is_searched_unless_it_is_wanted(solver: SolverProcess) -> None:
    woken = Woken()
    search = BackgroundSearch(solver, woken)
    search.begin(plan_input_of(1), EFFORT)
    search.want()
    search.begin(plan_input_of(2), EFFORT)
    await until(lambda: woken.times)
    found = search.take_result()
    assert found is not None
    assert len(found.problem.jobs) == 2


def test_the_larger_a_problem_the_longer_it_may_take_even_for_greedy() -> None:
    """Else a machine too slow for greedy within seconds would never have a plan at all."""
    greedy = Effort(deterministic_seconds=0)
    jobs = [a_training_job(f"j{index}") for index in range(1000)]
    small, large = a_problem(some_nodes(2), jobs[:1]), a_problem(some_nodes(1000), jobs)
    assert patience_seconds(small, greedy) < 21
    assert patience_seconds(large, greedy) == 40
    assert patience_seconds(large, EFFORT) > patience_seconds(large, greedy)
