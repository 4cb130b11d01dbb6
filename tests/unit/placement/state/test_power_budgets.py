"""Pods that draw more or less than their GPUs do in typical use."""

from dataclasses import replace

import pytest

from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.explain.changes.relaxing import relaxations
from plimsoll_placement.model import DomainName, Job, JobName, Shape
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solve import solve
from support.problems.builders import (
    a_node,
    a_power_domain,
    a_problem,
    a_role,
    a_training_job,
    some_nodes,
)

ROW = DomainName("row")
KILOWATT = 1_000_000


def a_job(name: str, draw_milli: int, *, gpus: int = 1) -> Job:
    role = a_role(gpu_milli=1000 * gpus)
    role = replace(role, shape=replace(role.shape, draw_milli=draw_milli * gpus))
    return a_training_job(name, worker=role)


def within(budget_watts: int, *jobs: Job) -> Problem:
    """Two nodes of 8 GPUs of 1 kW each, under one budget."""
    nodes = some_nodes(2, power_domains=(ROW,), busy_milliwatts=KILOWATT)
    return a_problem(nodes, jobs, power_domains=[a_power_domain("row", budget_watts=budget_watts)])


def admitted(problem: Problem, effort: Effort | None = None) -> list[JobName]:
    solution = solve(problem, effort or Effort())
    assert violations(problem, solution.placements) == ()
    assert score(problem, solution.placements) == solution.score <= solution.bound
    return sorted(name for name, held in solution.placements.items() if held)


def test_a_pod_draws_what_its_gpus_do_unless_something_else_is_said() -> None:
    assert Shape(2000).draw_milli == 2000
    assert Shape(2000) == Shape(2000, draw_milli=2000) != Shape(2000, draw_milli=1999)
    assert Shape(2000, draw_milli=0).draw_milli == 0


@pytest.mark.parametrize("effort", [Effort(0), Effort()])
@pytest.mark.parametrize(
    ("draw_milli", "fit"), [(1000, 4), (500, 8), (1300, 3), (250, 16), (0, 16)]
)
def test_so_many_jobs_run_as_the_budget_has_power_for(
    effort: Effort, draw_milli: int, fit: int
) -> None:
    jobs = [a_job(f"job-{index:02}", draw_milli) for index in range(20)]
    assert len(admitted(within(4000, *jobs), effort)) == fit


def test_a_frugal_job_takes_the_place_that_a_thirsty_one_finds_no_power_for() -> None:
    thirsty, frugal = a_job("a-thirsty", 1200, gpus=4), a_job("b-frugal", 400, gpus=4)
    assert admitted(within(4799, thirsty, frugal)) == ["b-frugal"]
    assert admitted(within(4800 + 1600, thirsty, frugal)) == ["a-thirsty", "b-frugal"]


def test_a_plan_that_forgot_what_thirsty_pods_draw_is_refused() -> None:
    problem = within(4000, a_job("train", 1300, gpus=4))
    placements = solve(within(6000, *problem.jobs)).placements
    [violation] = violations(problem, placements)
    assert "5200000 milliwatts drawn, the budget is 4000000" in str(violation)


def test_who_gives_way_is_counted_by_what_he_draws() -> None:
    low = [replace(a_job(f"low-{index}", 250), priority=0) for index in range(8)]
    held = solve(within(2000, *low)).placements
    running = [replace(job, running=held[job.name]) for job in low]
    urgent = replace(a_job("urgent", 1000), priority=100)
    names = admitted(within(2000, *running, urgent))
    assert "urgent" in names
    assert len(names) == 1 + 4


@pytest.mark.parametrize("draw_milli", [333, 1000, 1301])
def test_the_watts_that_are_named_suffice(draw_milli: int) -> None:
    problem = within(200, a_job("waiting", draw_milli, gpus=3))
    [waiting] = problem.jobs
    [found] = relaxations(problem, {}, waiting)
    changed, job = found.applied(problem, waiting)
    assert admitted(changed) == [job.name]
    missing = changed.power_domains[0].budget_milliwatts - 200 * 1000
    assert missing == 3 * draw_milli * 1000 - 200 * 1000


def test_gpus_that_frugal_pods_give_up_free_no_more_power_than_these_drew() -> None:
    node = a_node(power_domains=(ROW,), busy_milliwatts=KILOWATT)
    domain = a_power_domain("row", budget_watts=2000)
    jobs = [a_job("frugal", 250, gpus=8), a_job("waiting", 1000, gpus=4)]
    problem = a_problem([node], jobs, power_domains=[domain])
    frugal, waiting = problem.jobs
    held = solve(replace(problem, jobs=(frugal,))).placements
    [found] = relaxations(problem, held, waiting)
    assert found.sentence().startswith("free 4 GPUs")
    assert "raise the budget of power domain row by 3.0 kW" in found.sentence()
