"""What goes first, and where, if no score tells the choices apart."""

from dataclasses import replace

import pytest
from hypothesis import given

from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.among_equals import place_again
from plimsoll_placement.heuristics.greedy import Greedy, greedy_placements
from plimsoll_placement.heuristics.kinds import Claim
from plimsoll_placement.model import Arrival, Devices, GpuType, Job, JobName, Queue, Shape
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.state.ledger import Ledger
from support.problems.builders import (
    A100,
    H100,
    a_node,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    on,
    some_devices,
)
from support.problems.strategies import problems

WHOLE_ONES = (Arrival(Shape(1000), frozenset({H100}), 1000),)
SHARED = a_node("n0", devices=(some_devices(1, share_milli=1),))


def a_share(name: str, milli: int, sequence: int = 0, urgency_milli: int = 1000) -> Job:
    role = a_role(gpu_milli=milli)
    return a_training_job(name, worker=role, sequence=sequence, urgency_milli=urgency_milli)


def admitted(*jobs: Job) -> set[str]:
    problem = replace(a_problem([SHARED], jobs), past=WHOLE_ONES)
    return set(greedy_placements(problem))


def test_of_jobs_that_came_together_the_one_that_wastes_least_goes_first() -> None:
    assert admitted(a_share("a", 810), a_share("b", 1000)) == {"b"}
    assert admitted(a_share("a", 1000), a_share("b", 810)) == {"a"}


def test_an_older_job_goes_first_whatever_it_wastes() -> None:
    assert admitted(a_share("b", 810, sequence=1), a_share("a", 1000, sequence=2)) == {"b"}


def test_a_more_urgent_job_goes_first_whatever_it_wastes() -> None:
    urgent = a_share("b", 810, sequence=2, urgency_milli=1250)
    assert admitted(urgent, a_share("a", 1000, sequence=1)) == {"b"}


def test_jobs_that_are_alike_go_by_name() -> None:
    assert admitted(a_share("b", 1000), a_share("a", 1000)) == {"a"}


def test_a_gang_that_no_node_alone_has_room_for_goes_before_small_jobs() -> None:
    gang = a_training_job("z-gang", worker=a_role(counts=(4,)))
    small = [a_training_job(f"a-{number}") for number in range(2)]
    nodes = [a_node("n0", gpus=2), a_node("n1", gpus=2)]
    placements = greedy_placements(a_problem(nodes, [gang, *small]))
    assert set(placements) == {"z-gang"}


def after_placing_again(problem: Problem, ledger: Ledger, name: str) -> tuple[str, GpuType]:
    """Where a job is once all are placed again, and on which type."""
    place_again(ledger, problem.jobs)
    assert violations(problem, ledger.placed) == ()
    [assignment] = ledger.placed[JobName(name)]
    return assignment.nodes[0], assignment.gpu_type


def test_a_job_moves_into_a_gap_that_another_left_beside_it() -> None:
    nodes = [a_node(name, devices=(some_devices(1, share_milli=1),)) for name in ("n0", "n1")]
    problem = a_problem(nodes, [a_share("a", 500), a_share("b", 500)])
    problem = replace(problem, past=WHOLE_ONES)
    ledger = Ledger(problem)
    for job, node in zip(problem.jobs, ("n0", "n1"), strict=True):
        assert ledger.take(job, (on(node),))
    assert after_placing_again(problem, ledger, "a") == after_placing_again(problem, ledger, "b")


TYPES = [a_node("n0", gpus=1, gpu_type=A100), a_node("n1", gpus=1)]
ANYWHERE = a_role(rates={A100: 100, H100: 100})
BOUND_ONES = (Arrival(Shape(1000), frozenset({A100}), 9), Arrival(Shape(1000), frozenset({H100})))


@pytest.mark.parametrize(
    ("queue", "ends"),
    [
        (a_queue(), ("n1", H100)),
        (a_queue(guaranteed={A100: 1000}), ("n0", A100)),
        (a_queue(limit={H100: 1000}), ("n0", A100)),
        (a_queue(fair={A100: 1000, H100: 1000}), ("n0", A100)),
    ],
)
def test_a_job_changes_its_type_only_if_no_queue_counts_the_types(
    queue: Queue, ends: tuple[str, GpuType]
) -> None:
    problem = a_problem(TYPES, [a_training_job("any", worker=ANYWHERE)], queues=[queue])
    problem = replace(problem, past=BOUND_ONES)
    ledger = Ledger(problem)
    assert ledger.take(problem.jobs[0], (on("n0", gpu_type=A100),))
    assert after_placing_again(problem, ledger, "any") == ends


def test_a_job_stays_on_the_type_that_it_does_more_on() -> None:
    worker = a_role(rates={A100: 110, H100: 100})
    problem = a_problem(TYPES, [a_training_job("any", worker=worker)])
    problem = replace(problem, past=BOUND_ONES)
    ledger = Ledger(problem)
    assert ledger.take(problem.jobs[0], (on("n0", gpu_type=A100),))
    assert after_placing_again(problem, ledger, "any") == ("n0", A100)


@given(problems(most_nodes=6, most_jobs=10))
def test_placing_again_breaks_no_rule_and_costs_nothing(problem: Problem) -> None:
    greedy = Greedy.over_what_runs(problem)
    greedy.place_all(greedy.ages, Claim.FREE)
    before = dict(greedy.ledger.placed)
    broken = violations(problem, before)
    place_again(greedy.ledger, [job for job in problem.jobs if not job.is_running])
    after = dict(greedy.ledger.placed)
    assert after.keys() == before.keys()
    assert violations(problem, after) == broken
    assert score(problem, after) >= score(problem, before)


def test_what_came_together_is_kept_with_the_large_shares_first() -> None:
    """By name, the small shares would take the device that the large one needs."""
    node = a_node("n0", devices=(Devices(H100, (350, 530), 1),))
    shares = {"a": 220, "b": 310, "c": 320}
    jobs = [replace(a_share(name, milli), running=(on("n0"),)) for name, milli in shares.items()]
    placements = greedy_placements(a_problem([node], jobs))
    assert placements == {job.name: job.running for job in jobs}
