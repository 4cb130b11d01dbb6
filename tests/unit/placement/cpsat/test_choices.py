"""What the model sees and greedy does not: cases in which somebody must step aside for the best."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from plimsoll_placement.check import require_sound
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import DomainName, GpuType, Job, JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Outcome, Solution
from plimsoll_placement.solve import solve
from support.problems.builders import (
    A100,
    H100,
    T4,
    a_mixable_role,
    a_node,
    a_power_domain,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
    on,
    some_nodes,
)

NODE_0 = 0b1


def best_of(problem: Problem) -> Solution:
    solution = solve(problem)
    require_sound(problem, solution.placements)
    return solution


def nodes_of(solution: Solution, job: str) -> list[str]:
    return [name for a in solution.placements.get(JobName(job), ()) for name in a.nodes]


def admitted_by_greedy(problem: Problem) -> set[str]:
    return set(greedy_placements(problem))


def small_jobs(count: int, rates: Mapping[GpuType, int]) -> list[Job]:
    return [
        a_training_job(f"small-{index}", worker=a_role(rates=rates), sequence=index)
        for index in range(count)
    ]


def test_small_jobs_leave_the_large_node_to_who_can_run_nowhere_else() -> None:
    gang = a_training_job("gang", worker=a_role(counts=(4,), gpu_milli=2000), sequence=99)
    nodes = [a_node("h100"), a_node("t4", gpu_type=T4)]
    problem = a_problem(nodes, [*small_jobs(8, {H100: 100, T4: 30}), gang])
    assert "gang" not in admitted_by_greedy(problem)
    solution = best_of(problem)
    assert nodes_of(solution, "gang") == ["h100"] * 4
    assert {name for i in range(8) for name in nodes_of(solution, f"small-{i}")} == {"t4"}
    assert solution.outcome is Outcome.OPTIMAL


def test_running_job_moves_to_make_room_for_a_pod_that_needs_a_whole_node() -> None:
    running = [
        a_training_job(f"runs-{n}", running=gang_on(f"n{n}"), restart_seconds=60) for n in range(2)
    ]
    whole = a_training_job("whole", worker=a_role(gpu_milli=8000))
    problem = a_problem(some_nodes(2), [*running, whole])
    assert "whole" not in admitted_by_greedy(problem)
    solution = best_of(problem)
    assert len(nodes_of(solution, "whole")) == 1
    assert nodes_of(solution, "runs-0") == nodes_of(solution, "runs-1")


@pytest.mark.parametrize(("restart_seconds", "node"), [(600, "h100"), (3000, "t4")])
def test_job_moves_to_faster_gpus_only_if_that_makes_up_for_its_restart(
    restart_seconds: int, node: str
) -> None:
    job = a_training_job(
        worker=a_role(rates={H100: 100, T4: 30}),
        running=gang_on("t4", gpu_type=T4),
        restart_seconds=restart_seconds,
    )
    problem = a_problem([a_node("h100"), a_node("t4", gpu_type=T4)], [job])
    assert nodes_of(best_of(problem), "train") == [node]


def test_guarantee_is_reclaimed_from_who_loses_least_in_all() -> None:
    borrowed = [
        a_training_job(f"small-{index}", queue="b", running=gang_on("n0"), restart_seconds=1500)
        for index in range(4)
    ]
    cheap = a_training_job(
        "cheap",
        worker=a_role(gpu_milli=4000),
        queue="b",
        running=gang_on("n0"),
        restart_seconds=1000,
    )
    owner = a_training_job("owner", worker=a_role(gpu_milli=4000), queue="a")
    queues = [a_queue("a", guaranteed={H100: 4000}), a_queue("b")]
    problem = a_problem(some_nodes(1), [*borrowed, cheap, owner], queues=queues)
    solution = best_of(problem)
    assert set(solution.placements) == {"owner", *(job.name for job in borrowed)}


def test_power_is_left_to_who_can_draw_it_nowhere_else() -> None:
    rows = [DomainName("row-a"), DomainName("row-b")]
    nodes = [
        a_node(f"n{index}", busy_milliwatts=700_000, power_domains=(row,))
        for index, row in enumerate(rows)
    ]
    bound = a_training_job("bound", worker=a_role(counts=(4,), eligible=NODE_0), sequence=99)
    domains = [
        a_power_domain("row-a", budget_watts=2800),
        a_power_domain("row-b", budget_watts=5600),
    ]
    problem = a_problem(nodes, [*small_jobs(8, {H100: 100}), bound], power_domains=domains)
    assert "bound" not in admitted_by_greedy(problem)
    solution = best_of(problem)
    assert nodes_of(solution, "bound") == ["n0"] * 4
    assert all(nodes_of(solution, f"small-{i}") == ["n1"] for i in range(8))


def test_job_that_may_uses_its_spot_share_for_the_sake_of_one_that_may_not() -> None:
    nodes = [a_node("demand", gpus=4), a_node("spot", gpus=4, spot=True)]
    mixed = a_training_job("mixed", worker=a_role(counts=(4,)), spot_percent=50)
    steady = a_training_job("steady", worker=a_role(counts=(2,)), sequence=1)
    problem = a_problem(nodes, [mixed, steady])
    assert "steady" not in admitted_by_greedy(problem)
    solution = best_of(problem)
    assert nodes_of(solution, "steady") == ["demand"] * 2
    assert sorted(nodes_of(solution, "mixed")) == ["demand"] * 2 + ["spot"] * 2


def test_single_pod_goes_where_a_gang_can_still_have_the_rack_it_prefers() -> None:
    nodes = [a_node(f"n{index}", gpus=4, topology=(f"rack-{index % 2}",)) for index in range(4)]
    worker = a_role(gpu_milli=4000)
    first = a_training_job("first", worker=a_role(gpu_milli=4000, eligible=NODE_0))
    second = a_training_job("second", worker=worker, sequence=1)
    gang = a_training_job("gang", worker=replace(worker, counts=(2,), yields={H100: (8000,)}))
    gang = replace(gang, preferred_level=0, sequence=2)
    problem = a_problem(nodes, [first, second, gang], levels=("rack",))
    assert score(problem, greedy_placements(problem)) < best_of(problem).score
    assert sorted(nodes_of(best_of(problem), "gang")) == ["n1", "n3"]


def test_gang_that_requires_a_rack_gets_one_that_is_emptied_for_it() -> None:
    nodes = [a_node(f"n{index}", gpus=4, topology=(f"rack-{index // 2}",)) for index in range(4)]
    singles = [
        a_training_job(f"runs-{n}", running=gang_on(n), restart_seconds=60) for n in ("n0", "n2")
    ]
    gang = a_training_job("gang", worker=a_role(counts=(2,), gpu_milli=4000), required_level=0)
    problem = a_problem(nodes, [*singles, gang], levels=("rack",))
    assert "gang" not in admitted_by_greedy(problem)
    assert set(nodes_of(best_of(problem), "gang")) in ({"n0", "n1"}, {"n2", "n3"})


def test_replicas_spread_over_types_so_that_training_keeps_the_only_type_it_runs_on() -> None:
    nodes = [a_node("h100", gpus=4), a_node("a100", gpus=4, gpu_type=A100)]
    server = a_mixable_role(wanted_milli=2000, carried={H100: 1000, A100: 500})
    serve = an_inference_job(roles=(server,))
    train = a_training_job(worker=a_role(counts=(4,)), sequence=1)
    solution = best_of(a_problem(nodes, [serve, train]))
    assert nodes_of(solution, "serve") == ["a100"] * 4
    assert nodes_of(solution, "train") == ["h100"] * 4


def test_growth_goes_to_who_makes_more_of_it() -> None:
    flat = a_role(counts=(1, 2, 3, 4))
    flat = replace(flat, yields={H100: (1000, 1300, 1500, 1600)})
    steep = a_role(counts=(1, 2, 3, 4))
    jobs = [a_training_job("flat", worker=flat), a_training_job("steep", worker=steep)]
    solution = best_of(a_problem([a_node(gpus=5)], jobs))
    assert len(nodes_of(solution, "steep")) == 4


def test_idle_replicas_that_run_stay_where_they_are() -> None:
    running = tuple(on(f"n{n}", role="server", replica=n) for n in range(2))
    serve = an_inference_job(roles=(a_mixable_role(wanted_milli=2000),), running=running)
    waits = a_training_job(worker=a_role(gpu_milli=4000))
    solution = best_of(a_problem(some_nodes(2), [serve, waits]))
    assert set(solution.placements[JobName("serve")]) == set(running)
    assert nodes_of(solution, "train")


def test_pinned_job_keeps_a_node_that_another_needs_whole() -> None:
    pinned = a_training_job("pinned", running=gang_on("n0"), pinned=True)
    whole = a_training_job("whole", worker=a_role(gpu_milli=8000), priority=1000)
    solution = best_of(a_problem(some_nodes(1), [pinned, whole]))
    assert set(solution.placements) == {"pinned"}
    assert solution.outcome is Outcome.OPTIMAL


def test_closed_node_keeps_what_runs_and_is_not_counted_on_for_more() -> None:
    stays = a_training_job("stays", running=gang_on("n0"))
    two = a_training_job("two", worker=a_role(counts=(1, 2), gpu_milli=8000))
    nodes = [a_node("n0", open=False), a_node("n1")]
    solution = best_of(a_problem(nodes, [stays, two]))
    assert nodes_of(solution, "stays") == ["n0"]
    assert nodes_of(solution, "two") == ["n1"]
    assert solution.outcome is Outcome.OPTIMAL
