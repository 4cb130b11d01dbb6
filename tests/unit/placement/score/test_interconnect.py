"""What it costs a gang to cross domains of the level that it prefers, and what follows from it."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from plimsoll_placement.check import require_sound
from plimsoll_placement.classes.job_classes import job_classes
from plimsoll_placement.cpsat.improve import improve
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import GpuType, Job, JobName, Node
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import simple_bound
from plimsoll_placement.score.score import score
from plimsoll_placement.score.worth import worth
from plimsoll_placement.solution import Outcome
from plimsoll_placement.solve import solve
from support.problems.builders import (
    A100,
    H100,
    Placements,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    gang_on,
)

GANG = JobName("gang")
SECONDS = 3600


def a_rack(name: str, *, nodes: int = 1, gpus: int = 4, gpu_type: GpuType = H100) -> list[Node]:
    """Nodes of one rack, called after it."""
    return [
        a_node(f"{name}-{index}", gpus=gpus, gpu_type=gpu_type, topology=(name,))
        for index in range(nodes)
    ]


def a_gang(
    lost_percent: Mapping[GpuType, int], *counts: int, rates: Mapping[GpuType, int] | None = None
) -> Job:
    """A gang of workers with one GPU each that would like to be in one rack."""
    worker = a_role(counts=counts, rates=rates)
    return a_training_job(
        "gang", worker=worker, preferred_level=0, crossing_percent=lost_percent, restart_seconds=0
    )


def in_racks(nodes: list[Node], *jobs: Job) -> Problem:
    return a_problem(nodes, jobs, levels=("rack",))


def racks_of(placements: Placements) -> set[str]:
    return {name.split("-")[0] for a in placements[GANG] for name in a.nodes}


def useful_seconds(problem: Problem, *nodes: str, gpu_type: GpuType = H100) -> int:
    """What the gang is worth on these nodes, which cost nothing."""
    placed = gang_on(*nodes, gpu_type=gpu_type)
    return worth(problem, problem.job_by_name[GANG], placed, 1) // SECONDS


def test_a_gang_loses_on_each_type_what_crossing_costs_there() -> None:
    nodes = [*a_rack("a"), *a_rack("b"), *a_rack("c", gpu_type=A100), *a_rack("d", gpu_type=A100)]
    problem = in_racks(nodes, a_gang({H100: 60}, 2, rates={H100: 100, A100: 50}))
    assert useful_seconds(problem, "a-0", "a-0") == 2000
    assert useful_seconds(problem, "a-0", "b-0") == 800
    assert useful_seconds(problem, "c-0", "c-0", gpu_type=A100) == 1000
    assert useful_seconds(problem, "c-0", "d-0", gpu_type=A100) == 900  # what the weights say


@pytest.mark.parametrize(
    ("lost_percent", "workers", "racks"), [(60, 4, {"a"}), (40, 8, {"a", "b"})]
)
def test_a_gang_stays_small_in_one_rack_where_it_yields_more_than_large_across_two(
    lost_percent: int, workers: int, racks: set[str]
) -> None:
    problem = in_racks([*a_rack("a"), *a_rack("b")], a_gang({H100: lost_percent}, 2, 4, 8))
    solution = solve(problem)
    require_sound(problem, solution.placements)
    assert solution.outcome is Outcome.OPTIMAL
    assert len(solution.placements[GANG]) == workers
    assert len(racks_of(solution.placements)) == len(racks)
    assert solution.score == score(problem, solution.placements)


def test_a_gang_that_runs_across_racks_shrinks_into_one_where_that_yields_more() -> None:
    gang = replace(a_gang({H100: 60}, 4, 8), running=gang_on(*["a-0"] * 4, *["b-0"] * 4))
    solution = solve(in_racks([*a_rack("a"), *a_rack("b")], gang))
    assert len(solution.placements[GANG]) == 4
    assert len(racks_of(solution.placements)) == 1


def test_a_gang_runs_across_racks_rather_than_wait_however_much_that_costs() -> None:
    problem = in_racks([*a_rack("a"), *a_rack("b")], a_gang({H100: 100}, 8))
    assert racks_of(solve(problem).placements) == {"a", "b"}


@pytest.mark.parametrize(
    ("lost_percent", "gpu_type"),
    [({H100: 60}, A100), ({H100: 20}, H100), ({H100: 60, A100: 60}, A100)],
)
def test_even_greedy_takes_the_type_that_yields_most_after_what_crossing_costs(
    lost_percent: Mapping[GpuType, int], gpu_type: GpuType
) -> None:
    nodes = [*a_rack("a"), *a_rack("b"), *a_rack("c", gpus=8, gpu_type=A100)]
    problem = in_racks(nodes, a_gang(lost_percent, 8, rates={H100: 100, A100: 70}))
    placed = greedy_placements(problem)[GANG]
    assert {assignment.gpu_type for assignment in placed} == {gpu_type}
    assert solve(problem).outcome is Outcome.OPTIMAL
    assert solve(problem).score == score(problem, {GANG: placed})


def test_nobody_gives_way_so_that_a_gang_need_not_cross() -> None:
    tenant = a_training_job("tenant", worker=a_role(counts=(4,)), running=gang_on(*["a-0"] * 4))
    gang = replace(a_gang({H100: 60, A100: 60}, 8, rates={H100: 100, A100: 70}), priority=100)
    nodes = [
        *a_rack("a", gpus=8),
        *a_rack("b", gpu_type=A100),
        *a_rack("c", gpu_type=A100),
    ]
    solution = solve(in_racks(nodes, gang, tenant))
    assert set(solution.placements) == {"gang", "tenant"}
    assert racks_of(solution.placements) == {"b", "c"}


def test_gangs_that_crossing_costs_more_are_the_ones_that_do_not_cross() -> None:
    nodes = [*a_rack("a"), *a_rack("b", gpus=2), *a_rack("c", gpus=2)]
    light = replace(a_gang({H100: 5}, 4), name=JobName("light"))
    solution = solve(in_racks(nodes, light, a_gang({H100: 50}, 4)))
    assert racks_of(solution.placements) == {"a"}
    assert len({name for a in solution.placements[JobName("light")] for name in a.nodes}) == 2


def test_jobs_that_differ_in_what_crossing_costs_are_not_of_one_group() -> None:
    some = [replace(a_gang({H100: 40}, 2), name=JobName(name)) for name in ("a", "b")]
    other = a_gang({H100: 50}, 2)
    found = job_classes(in_racks(a_rack("a"), *some, other))
    assert sorted([job.name for job in group.jobs] for group in found) == [["a", "b"], ["gang"]]


def test_the_model_of_alike_nodes_finds_the_rack_in_which_a_gang_can_grow() -> None:
    problem = in_racks([*a_rack("a", gpus=2), *a_rack("b")], a_gang({H100: 60}, 2, 4))
    start = greedy_placements(problem)
    assert len(start[GANG]) == 2
    answer = improve(problem, start, simple_bound(problem), 1.0)
    assert answer.placements is not None
    require_sound(problem, answer.placements)
    assert racks_of(answer.placements) == {"b"}
    assert score(problem, answer.placements) == answer.bound
