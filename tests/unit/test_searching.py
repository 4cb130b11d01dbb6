"""The search of the whole, by a solver in a process of its own."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from asynchronous import asynchronous, until
from builders import a_problem, a_training_job, some_nodes
from plimsoll.planning.problems import Question
from plimsoll.searching import BackgroundSearch
from plimsoll.solving import Solver
from plimsoll_placement.effort import Effort
from plimsoll_placement.explain import Feasibility
from plimsoll_placement.problem import Problem

EFFORT = Effort(deterministic_seconds=0.2)


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with closing(Solver()) as solver:
        yield solver


def asked(jobs: int) -> Question:
    problem = a_problem(some_nodes(2), [a_training_job(f"j{index}") for index in range(jobs)])
    return Question(problem, (), Feasibility(problem))


class Woken:
    """How often the loop was woken."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@asynchronous
async def test_what_is_found_is_the_answer_to_the_same_question_once(solver: Solver) -> None:
    woken = Woken()
    search = BackgroundSearch(solver, woken)
    search.end(is_wanted=True)
    search.begin(asked(3).problem, EFFORT)
    assert search.answer(asked(3)) is None
    await until(lambda: woken.times)
    found = search.answer(asked(3))
    assert found is not None
    assert found.placements.keys() == {"j0", "j1", "j2"}
    assert search.answer(asked(3)) is None
    assert not search.is_wanted


@asynchronous
async def test_what_comes_late_is_thrown_away(solver: Solver) -> None:
    woken = Woken()
    search = BackgroundSearch(solver, woken)
    search.end(is_wanted=True)
    search.begin(asked(3).problem, EFFORT)
    await until(lambda: woken.times)
    assert search.answer(asked(4)) is None
    assert search.is_wanted
    search.begin(asked(3).problem, EFFORT)
    await until(lambda: woken.times > 1)
    assert search.answer(asked(3)) is not None


@asynchronous
async def test_a_search_ends_when_the_cluster_changes(solver: Solver) -> None:
    woken = Woken()
    search = BackgroundSearch(solver, woken)
    search.end(is_wanted=True)
    search.begin(asked(3).problem, EFFORT)
    search.end(is_wanted=True)
    await until(lambda: woken.times)
    assert search.answer(asked(3)) is None
    assert search.is_wanted


@asynchronous
async def test_nothing_is_searched_if_the_whole_was_looked_at(solver: Solver) -> None:
    search = BackgroundSearch(solver, Woken())
    problem: Problem = asked(1).problem
    search.begin(problem, EFFORT)
    assert search.answer(asked(1)) is None
    assert not search.is_wanted
