"""Of nodes that would all do, which is taken: the one that leaves most to the pods to come."""

from dataclasses import replace

import pytest

from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import Job, JobName, Shape
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.fragmentation import arrivals
from support.problems.builders import (
    A100,
    GIB,
    H100,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    some_devices,
)

RICH = a_node("a-rich", gpus=4, cpu_millis=64_000)
POOR = a_node("z-poor", gpus=4, cpu_millis=8_000)
HUNGRY = a_role(cpu_millis=16_000)
FRUGAL = a_role(cpu_millis=1_000)


def node_of(problem: Problem, job: str) -> str:
    return greedy_placements(problem)[JobName(job)][0].nodes[0]


def came_before(*jobs: Job) -> Problem:
    """One frugal job to place, where these were there before."""
    job = a_training_job("frugal", worker=FRUGAL)
    problem = a_problem([RICH, POOR], [job])
    return replace(problem, past=arrivals(role for job in jobs for role in job.roles))


def test_a_frugal_job_leaves_cpu_to_the_hungry_ones_that_wait() -> None:
    hungry = [a_training_job(f"hungry-{n}", worker=HUNGRY) for n in range(4)]
    frugal = a_training_job("frugal", worker=FRUGAL, priority=1)
    placements = greedy_placements(a_problem([RICH, POOR], [frugal, *hungry]))
    assert placements[frugal.name][0].nodes == ("z-poor",)
    assert len(placements) == 5


def test_what_came_before_shows_what_comes_next() -> None:
    assert node_of(came_before(), "frugal") == "a-rich"
    assert node_of(came_before(a_training_job("old", worker=HUNGRY)), "frugal") == "z-poor"


def test_what_came_for_other_gpus_shows_nothing() -> None:
    other = a_role(cpu_millis=16_000, rates={A100: 100})
    assert node_of(came_before(a_training_job("old", worker=other)), "frugal") == "a-rich"


def test_memory_counts_where_it_is_scarcer_than_cpu() -> None:
    small = a_node("z-small", gpus=4, memory_bytes=32 * GIB)
    hungry = a_training_job("old", worker=a_role(memory_bytes=64 * GIB))
    job = a_training_job("frugal", worker=a_role(memory_bytes=GIB))
    problem = a_problem([a_node("a-large", gpus=4), small], [job])
    problem = replace(problem, past=arrivals(hungry.roles))
    assert node_of(problem, "frugal") == "z-small"


def test_a_fraction_goes_where_a_usual_one_still_fits_beside_it() -> None:
    halved = a_node("z-halved", devices=(some_devices(1, share_milli=1, free_milli=600),))
    less = a_node("a-less", devices=(some_devices(1, share_milli=1, free_milli=500),))
    usual = a_training_job("old", worker=a_role(gpu_milli=300))
    job = a_training_job("new", worker=a_role(gpu_milli=300))
    problem = replace(a_problem([less, halved], [job]), past=arrivals(usual.roles * 50))
    assert node_of(problem, "new") == "z-halved"


@pytest.mark.parametrize("pods", [1, 3])
def test_whole_nodes_stay_for_gangs(pods: int) -> None:
    begun = a_node("z-begun", devices=(some_devices(4), some_devices(4, free_milli=0)))
    job = a_training_job("small", worker=a_role(counts=(pods,)))
    gang = a_training_job("gang", worker=a_role(gpu_milli=8000), sequence=1)
    placements = greedy_placements(a_problem([a_node("a-whole"), begun], [job, gang]))
    assert {node for assignment in placements[job.name] for node in assignment.nodes} == {"z-begun"}
    assert placements[gang.name][0].nodes == ("a-whole",)


def test_pods_that_are_alike_are_one_arrival() -> None:
    role = a_role(counts=(2, 4), pods_per_replica=3)
    (found,) = arrivals([role, role])
    assert (found.shape, found.gpu_types, found.pods) == (Shape(1000), frozenset({H100}), 12)
