"""Large-neighbourhood search: always sound, never worse, the same for the same problem."""

from collections import Counter
from functools import cache
from random import Random

import pytest

from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.lns.choosing import FEWEST_ROWS, Arm, drawn_arm
from plimsoll_placement.lns.drawing import drawn_scope
from plimsoll_placement.lns.kinds import (
    KINDS,
    Kind,
    able_to_grow,
    away_from_home,
    in_a_power_domain,
    near_a_node,
    waiting_and_in_its_way,
)
from plimsoll_placement.lns.problem_index import ProblemIndex
from plimsoll_placement.lns.searching import Search
from plimsoll_placement.lns.view import View
from plimsoll_placement.model import DomainName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Score
from support.problems.builders import (
    Placements,
    a_mixable_role,
    a_node,
    a_power_domain,
    a_problem,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
    on,
    placed,
)
from support.problems.random_problems import random_problem
from support.project.tiers import quick_first


def out_of_reach(problem: Problem) -> Score:
    """A bound that no search attains."""
    levels = score(problem, {}).levels
    return Score((1 << 60,) * len(levels))


def searched(problem: Problem, seconds: float, workers: int = 1) -> Search:
    search = Search(problem, greedy_placements(problem), workers=workers)
    search.run(seconds, out_of_reach(problem))
    return search


@pytest.mark.parametrize("workers", quick_first([1, 2]))
@pytest.mark.parametrize("seed", quick_first([2, 3]))
def test_a_search_is_sound_and_better_than_greedy_where_there_is_much_to_gain(
    seed: int, workers: int
) -> None:
    problem = random_problem(seed, nodes=40, jobs=100)
    search = searched(problem, 0.5, workers)
    assert violations(problem, search.placements) == ()
    assert search.score == score(problem, search.placements)
    assert search.score > score(problem, greedy_placements(problem))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_problem_and_workers_give_the_same_plan(workers: int) -> None:
    problem = random_problem(4, nodes=30, jobs=70)
    first, second = searched(problem, 0.3, workers), searched(problem, 0.3, workers)
    assert first.placements == second.placements


def test_a_search_ends_where_the_bound_is_reached() -> None:
    problem = random_problem(3, nodes=20, jobs=50)
    search = Search(problem, greedy_placements(problem))
    before = search.placements
    search.run(10.0, search.score)
    assert search.placements is before


def test_where_nothing_helps_the_start_is_the_answer() -> None:
    problem = a_problem([a_node()], [a_training_job()])
    start = greedy_placements(problem)
    search = Search(problem, start)
    search.run(1.0, out_of_reach(problem))
    assert search.placements == start


def test_pods_are_packed_together_to_make_room_for_a_large_one() -> None:
    nodes = [a_node("n0", gpus=2), a_node("n1", gpus=2)]
    small = [
        a_training_job("a", running=gang_on("n0"), restart_seconds=1),
        a_training_job("b", running=gang_on("n1"), restart_seconds=1),
    ]
    large = a_training_job("large", worker=a_role(gpu_milli=2000))
    problem = a_problem(nodes, [*small, large])
    search = Search(problem, dict(placed(a=gang_on("n0"), b=gang_on("n1"))))
    search.run(1.0, out_of_reach(problem))
    assert len(search.placements) == 3


@cache
def crowded(seed: int) -> tuple[Problem, Placements]:
    problem = random_problem(seed, nodes=20, jobs=40)
    return problem, greedy_placements(problem)


def view_of_greedy(seed: int) -> View:
    problem, placements = crowded(seed)
    return View(ProblemIndex(problem), dict(placements))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 3, 9])
def test_neighbourhoods_hold_no_pinned_job_and_keep_to_their_size(kind: Kind, size: int) -> None:
    drawn = 0
    for seed in range(12):
        scope = drawn_scope(view_of_greedy(seed), kind, Random(seed), size)
        if scope is not None:
            drawn += 1
            assert 1 <= len(scope.jobs) <= 2 * size
            assert len(scope.rows) <= size
            assert not any(job.pinned for job in scope.jobs)
            assert len(scope.names) == len(scope.jobs)
    assert drawn > 0


def test_a_job_that_waits_comes_with_nodes_where_the_least_important_are() -> None:
    nodes = [a_node("n0", gpus=1), a_node("n1", gpus=1)]
    problem = a_problem(
        nodes,
        [
            a_training_job("low", priority=1),
            a_training_job("high", priority=9),
            a_training_job("waits", priority=5),
        ],
    )
    view = View(ProblemIndex(problem), dict(placed(low=gang_on("n1"), high=gang_on("n0"))))
    scope = drawn_scope(view, waiting_and_in_its_way, Random(0), 1)
    assert scope is not None
    assert scope.rows == {1}
    assert scope.names == {"waits", "low"}


def test_a_job_that_no_node_suits_is_not_waited_for() -> None:
    problem = a_problem([a_node()], [a_training_job(worker=a_role(eligible=0))])
    assert (
        drawn_scope(View(ProblemIndex(problem), {}), waiting_and_in_its_way, Random(0), 4) is None
    )


def test_a_power_domain_comes_with_its_own_nodes_alone() -> None:
    row = DomainName("row")
    nodes = [a_node(f"n{n}", power_domains=(row,) if n % 2 else ()) for n in range(6)]
    jobs = [a_training_job(f"job-{n}") for n in range(3)]
    problem = a_problem(nodes, jobs, power_domains=[a_power_domain("row", budget_watts=1)])
    scope = drawn_scope(View(ProblemIndex(problem), {}), in_a_power_domain, Random(0), 6)
    assert scope is not None
    assert scope.rows == {1, 3, 5}


def test_nodes_of_one_rack_come_first() -> None:
    nodes = [a_node(f"n{n}", topology=(f"rack-{n // 3}",)) for n in range(9)]
    jobs = [a_training_job(f"job-{n}") for n in range(3)]
    problem = a_problem(nodes, jobs, levels=("rack",))
    for seed in range(5):
        scope = drawn_scope(View(ProblemIndex(problem), {}), near_a_node, Random(seed), 3)
        assert scope is not None
        assert len({row // 3 for row in scope.rows}) == 1


def test_jobs_that_left_their_nodes_come_with_these() -> None:
    home, away = gang_on("n0"), gang_on("n1")
    jobs = [a_training_job("moved", running=home), a_training_job("stayed", running=away)]
    problem = a_problem([a_node("n0"), a_node("n1")], jobs)
    view = View(ProblemIndex(problem), dict(placed(moved=away, stayed=away)))
    scope = drawn_scope(view, away_from_home, Random(0), 1)
    assert scope is not None
    assert scope.rows == {0}
    assert "moved" in scope.names
    assert "stayed" not in scope.names


def test_jobs_that_could_be_larger_are_found() -> None:
    elastic = a_training_job("elastic", worker=a_role(counts=(1, 2)))
    service = an_inference_job("service", roles=(a_mixable_role(counts=(1, 2)),))
    problem = a_problem([a_node()], [elastic, service])
    full = (on("n0", role="server"), on("n0", role="server", replica=1))
    view = View(ProblemIndex(problem), dict(placed(elastic=gang_on("n0"), service=full)))
    assert [job.name for job in able_to_grow(view, Random(0)).jobs] == ["elastic"]


def test_kinds_that_yield_are_drawn_more_often_and_none_is_given_up() -> None:
    arms, rng = [Arm(), Arm(), Arm()], Random(0)
    for _ in range(20):
        arms[0].record(gained=True, seconds=0.1)
        arms[1].record(gained=False, seconds=0.1)
        arms[2].record(gained=True, seconds=0.4)
    drawn = Counter(drawn_arm(arms, rng) for _ in range(1000))
    assert drawn[0] > 2 * drawn[2] > 2 * drawn[1] > 0


def test_neighbourhoods_shrink_when_they_are_too_much_and_grow_when_they_are_done_soon() -> None:
    arm = Arm(rows=8)
    arm.resize(is_proven=False, seconds=1, most_seconds=1)
    assert arm.rows < 8
    for _ in range(100):
        arm.resize(is_proven=False, seconds=1, most_seconds=1)
    assert arm.rows == FEWEST_ROWS
    arm.resize(is_proven=True, seconds=0.9, most_seconds=1)
    assert arm.rows == FEWEST_ROWS
    arm.resize(is_proven=True, seconds=0.1, most_seconds=1)
    assert arm.rows > FEWEST_ROWS
