"""No plan gives a service replicas that it does not need, whatever else would count them."""

import pytest

from plimsoll_placement.effort import Effort
from plimsoll_placement.model import JobName
from plimsoll_placement.solve import solve_lean
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


@pytest.mark.parametrize("effort", [Effort(0), Effort(1)])
def test_a_guarantee_is_not_filled_with_idle_replicas(effort: Effort) -> None:
    role = a_mixable_role(counts=range(1, 7), wanted_milli=1000, carried={H100: 1000, A100: 500})
    service = an_inference_job(roles=(role,))
    # Its job cannot be placed, so that some of the guarantee stays free.
    waits = a_training_job("waits", worker=a_role(counts=(1,), gpu_milli=8000))
    queue = a_queue(guaranteed={H100: 6000})
    problem = a_problem([a_node(gpus=6)], [service, waits], queues=[queue])
    assignments = solve_lean(problem, effort).placements[JobName("serve")]
    assert len(assignments) == 1


@pytest.mark.parametrize("effort", [Effort(0), Effort(1)])
def test_room_of_idle_replicas_goes_to_jobs_that_wait(effort: Effort) -> None:
    role = a_mixable_role(counts=range(1, 7), wanted_milli=1000, carried={H100: 1000})
    service = an_inference_job(roles=(role,), queue="owner", priority=100)
    waits = a_training_job("waits", worker=a_role(counts=(1,), gpu_milli=4000), queue="other")
    queues = [a_queue("owner", guaranteed={H100: 6000}), a_queue("other")]
    problem = a_problem([a_node(gpus=6)], [service, waits], queues=queues)
    placements = solve_lean(problem, effort).placements
    assert len(placements[JobName("serve")]) == 1
    assert len(placements[JobName("waits")]) == 1
