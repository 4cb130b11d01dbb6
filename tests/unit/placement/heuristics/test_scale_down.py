"""No plan gives a service replicas that it does not need, whatever else would count them."""

import pytest

from plimsoll_placement.effort import Effort
from plimsoll_placement.model import JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve, solve_lean
from support.problems.builders import (
    A100,
    H100,
    a_mixable_role,
    a_node,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    an_inference_job,
)


def a_problem_with_a_guarantee_left() -> Problem:
    """A service, a job that keeps its queue entitled to 4 GPUs but fits no node, and a stranger."""
    role = a_mixable_role(counts=range(1, 7), wanted_milli=1000, carried={H100: 1000, A100: 500})
    jobs = [
        an_inference_job(roles=(role,), queue="owner", priority=1),
        a_training_job("large", worker=a_role(gpu_milli=4000), queue="owner", priority=1),
        a_training_job("stranger", worker=a_role(gpu_milli=2000), queue="other"),
    ]
    queues = [a_queue("owner", guaranteed={H100: 6000}), a_queue("other")]
    return a_problem([a_node("n0", gpus=3), a_node("n1", gpus=3)], jobs, queues=queues)


@pytest.mark.parametrize("effort", [Effort(0), Effort(1)])
def test_a_guarantee_is_not_filled_with_idle_replicas(effort: Effort) -> None:
    assignments = solve_lean(a_problem_with_a_guarantee_left(), effort).placements[JobName("serve")]
    assert len(assignments) == 1


def test_room_of_idle_replicas_goes_to_jobs_that_wait() -> None:
    problem = a_problem_with_a_guarantee_left()
    assert len(solve(problem, Effort(1)).placements[JobName("serve")]) == 5
    assert len(solve_lean(problem, Effort(1)).placements[JobName("stranger")]) == 1
