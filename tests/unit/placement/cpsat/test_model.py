"""The model is a relaxation: what is sound is feasible in it, and nothing beats its bound."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest
from ortools.sat.python.cp_model import FEASIBLE, OPTIMAL, CpSolver

from plimsoll_placement.check import require_sound, violations
from plimsoll_placement.classes.node_class import times
from plimsoll_placement.classes.relaxation import Relaxation, admission, relaxation
from plimsoll_placement.cpsat.builder import ModelBuilder, builder
from plimsoll_placement.cpsat.constraints import constrain
from plimsoll_placement.cpsat.hint import values_of
from plimsoll_placement.cpsat.improve import Improvement, improve
from plimsoll_placement.cpsat.objective import admission_levels, worth_level
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import simple_bound
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Outcome
from support.problems.brute_force import best_score, combination_count
from support.problems.builders import (
    GIB,
    H100,
    Placements,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    gang_on,
    some_devices,
    some_nodes,
)
from support.problems.other_resources import with_other_resources
from support.problems.random_problems import random_problem
from support.project.tiers import quick_first

MOST_COMBINATIONS = 3000


def small_problems(count: int, *, nodes: int, jobs: int, asking: bool = False) -> Iterator[Problem]:
    """Random ones; `asking`: pods also ask for network devices and storage."""
    for seed in range(count):
        plain = random_problem(seed, nodes=2 + seed % nodes, jobs=1 + seed % jobs)
        yield with_other_resources(plain, Random(seed)) if asking else plain


def improved(problem: Problem, seconds: float = 0.5) -> Improvement:
    start = greedy_placements(problem)
    found = improve(problem, start, simple_bound(problem), seconds)
    require_sound(problem, found.placements or start)
    return found


def sound_placements(problem: Problem) -> Iterator[Placements]:
    running = {job.name: job.running for job in problem.jobs if job.running}
    for placements in (running, greedy_placements(problem)):
        if not violations(problem, placements):
            yield placements


def is_feasible(made: ModelBuilder, values: list[int]) -> bool:
    made.model.clear_objective()
    made.model.clear_hints()
    for index, value in enumerate(values):
        made.model.add_hint(made.model.get_int_var_from_proto_index(index), value)
    solver = CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.fix_variables_to_their_hinted_value = True
    return solver.solve(made.model) in (OPTIMAL, FEASIBLE)


def a_model(relaxed: Relaxation) -> ModelBuilder:
    made = builder(relaxed)
    constrain(made)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("asking", quick_first([False, True]))
@pytest.mark.parametrize("view", quick_first([admission, relaxation]))
def test_sound_placements_are_feasible_and_score_no_more_than_the_model_says(
    view: Callable[[Problem], Relaxation], *, asking: bool
) -> None:
    for problem in small_problems(150, nodes=5, jobs=8, asking=asking):
        made = a_model(view(problem))
        levels = admission_levels(made)
        if view is relaxation:
            levels = (*levels, worth_level(made))
        for placements in sound_placements(problem):
            values = values_of(made, placements)
            assert is_feasible(made, values)
            for level, reached in zip(levels, score(problem, placements).levels, strict=False):
                assert level.score(level.total.value(values)) >= reached
                assert level.total.value(values) >= level.least_value(reached)


@pytest.mark.slow
@pytest.mark.parametrize("asking", [False, True])
def test_nothing_is_better_than_the_bound(*, asking: bool) -> None:
    looked_at = found = 0
    for problem in small_problems(320, nodes=2, jobs=3, asking=asking):
        if combination_count(problem) > MOST_COMBINATIONS:
            continue
        best, answer = best_score(problem), improved(problem)
        assert best <= answer.bound
        placements = answer.placements or greedy_placements(problem)
        looked_at, found = looked_at + 1, found + (score(problem, placements) == best)
    assert looked_at > 250
    assert found > 0.9 * looked_at


@pytest.mark.slow
def test_bound_is_no_higher_than_the_one_that_was_known() -> None:
    for problem in small_problems(60, nodes=4, jobs=6):
        known = simple_bound(problem)
        for level, before in zip(improved(problem).bound.levels, known.levels, strict=True):
            assert level <= before


@pytest.mark.slow
def test_same_problem_has_the_same_answer() -> None:
    for problem in small_problems(30, nodes=6, jobs=9):
        assert improved(problem) == improved(problem)


@pytest.mark.slow
def test_thousands_of_jobs_alike_are_one_group() -> None:
    worker = a_role(cpu_millis=4000, memory_bytes=8 * GIB)
    jobs = [a_training_job(f"job-{n:04}", worker=worker, sequence=n) for n in range(4000)]
    problem = a_problem(some_nodes(500), jobs)
    relaxed = relaxation(problem)
    assert len(relaxed.job_classes) == 1
    assert relaxed.size < 10
    assert improved(problem).outcome is Outcome.OPTIMAL


def test_thousands_of_running_jobs_alike_are_one_group_for_who_is_admitted() -> None:
    jobs = [
        a_training_job(f"job-{n:04}", running=gang_on(f"n{n // 8}"), sequence=n) for n in range(800)
    ]
    problem = a_problem(some_nodes(100), jobs)
    assert len(admission(problem).job_classes) == 1
    assert len(relaxation(problem).job_classes) == 100


def test_nodes_that_differ_only_in_what_is_free_are_one_node_class() -> None:
    nodes = [
        a_node(f"n{n}", cpu_millis=96_000 - n, devices=(some_devices(8 - n % 2),)) for n in range(9)
    ]
    assert len(relaxation(a_problem(nodes, [a_training_job()])).node_classes.node_classes) == 1


def test_selectors_spot_and_power_tell_nodes_apart() -> None:
    nodes = [a_node("n0"), a_node("n1", spot=True), a_node("n2", busy_milliwatts=1), a_node("n3")]
    job = a_training_job(worker=a_role(eligible=0b0111))
    assert len(relaxation(a_problem(nodes, [job])).node_classes.node_classes) == 4


def test_racks_are_told_apart_only_while_they_are_few() -> None:
    gang = a_training_job(worker=a_role(counts=(2,), gpu_milli=8000), required_level=0)
    for racks, domain_options in ((4, 4), (40, 1)):
        nodes = [a_node(f"n{n}", topology=(f"rack-{n % racks}",)) for n in range(2 * racks)]
        relaxed = relaxation(a_problem(nodes, [gang], levels=("rack",)))
        assert len(relaxed.node_classes.domain_options[0]) == domain_options


def test_gangs_in_racks_that_are_taken_together_still_need_a_rack_each() -> None:
    nodes = [a_node(f"n{n}", topology=(f"rack-{n % 20}",)) for n in range(40)]
    worker = a_role(counts=(3,), gpu_milli=4000)
    gangs = [
        a_training_job(f"gang-{n:02}", worker=worker, required_level=0, sequence=n)
        for n in range(25)
    ]
    problem = a_problem(nodes, gangs, levels=("rack",))
    found = improved(problem)
    assert found.outcome is Outcome.OPTIMAL
    assert found.bound.levels[2] == 20 * 12_000


def test_holes_beside_what_is_pinned_do_not_count_as_room() -> None:
    pinned = [
        a_training_job(f"pinned-{n}", running=gang_on(f"n{n}"), pinned=True) for n in range(4)
    ]
    whole = a_training_job("whole", worker=a_role(gpu_milli=8000))
    found = improved(a_problem(some_nodes(4), [*pinned, whole]))
    assert found.bound.levels[2] == 0
    assert found.outcome is Outcome.OPTIMAL


def test_cpu_that_suffices_for_one_pod_a_node_does_not_add_up_to_more() -> None:
    nodes = [a_node(f"n{n}", cpu_millis=7000) for n in range(4)]
    jobs = [a_training_job(f"job-{n}", worker=a_role(cpu_millis=4000)) for n in range(7)]
    assert improved(a_problem(nodes, jobs)).bound.levels[2] == 4000


def test_odd_fractions_that_share_no_device_do_not_add_up() -> None:
    node = a_node(devices=(some_devices(4, share_milli=1),))
    jobs = [a_training_job(f"job-{n}", worker=a_role(gpu_milli=600)) for n in range(6)]
    assert improved(a_problem([node], jobs)).bound.levels[2] == 4 * 600


def test_interpolated_yields_make_few_segments() -> None:
    counts = tuple(range(1, 65))
    curve = {H100: tuple(1000 * n - (4 * (n - 32) ** 2 if n > 32 else 0) for n in counts)}
    worker = replace(a_role(counts=counts), yields=curve)
    [[option]] = relaxation(a_problem(some_nodes(8), [a_training_job(worker=worker)])).options
    assert len(option.segments) == 33
    assert option.segments[0].steps == 31


def test_model_that_is_too_large_for_the_time_is_not_begun() -> None:
    problem = random_problem(1, nodes=30, jobs=60)
    found = improved(problem, seconds=0.001)
    assert found.placements is None
    assert found.bound == simple_bound(problem)
    assert found.outcome is Outcome.GREEDY


def test_nodes_without_what_a_role_asks_for_are_in_no_class_that_admits_it() -> None:
    asks = a_role(others=(("rdma/hca", 4),))
    amounts = (0, 3, 4, 7, 9)
    nodes = [a_node(f"n{n}", others=(("rdma/hca", n),) if n else ()) for n in amounts]
    problem = a_problem(nodes, [a_training_job(worker=asks)])
    (role,) = problem.jobs[0].roles
    for view in (admission, relaxation):
        found = view(problem).node_classes.node_classes
        rooms = {
            tuple(sorted(each.rows.tolist())): int(each.room(role.shape).max())
            for each in found
            if each.admits(role)
        }
        assert rooms == {(2, 3): 1, (4,): 2}, "of four and of seven alike there is one"


def test_pods_that_hold_none_of_what_a_shape_asks_for_make_no_room_for_it() -> None:
    asks = a_role(others=(("rdma/hca", 1),))
    problem = a_problem([a_node(others=(("rdma/hca", 8),))], [a_training_job(worker=asks)])
    (node_class,) = relaxation(problem).node_classes.node_classes
    large = replace(asks.shape, gpu_milli=4000, others=())
    assert times(node_class, large, replace(asks.shape, others=())) == 4
    assert times(node_class, large, asks.shape) == 0
    assert times(node_class, replace(large, others=(("rdma/hca", 2),)), asks.shape) == 2
