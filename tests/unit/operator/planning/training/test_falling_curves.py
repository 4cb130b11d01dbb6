"""A job whose curve falls off gets no GPUs that bring more elsewhere, by the plan's own figures."""

from itertools import pairwise

import pytest

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Job
from plimsoll_placement.solve import solve
from support.clusters.seen import seen
from support.objects.job_manifests import a_policy, a_training_job

GPUS = 12
NODE = fake_node("n-0", gpus=GPUS)
FALLING = {1: 100, 2: 180, 3: 220, 4: 230, 12: 235}
STEADY = {1: 40, 12: 460}


def elastic(name: str, curve: dict[int, int]) -> Manifest:
    return a_training_job(name, workers=(1, GPUS), rates={H100: curve})


def gains(job: Job, milli_at: int) -> tuple[int, int]:
    """What the last GPU that a job has brings it, and what one more would, in useful milli-GPUs."""
    (yields,) = job.roles[0].yields.values()
    steps = [yields[0], *(above - below for below, above in pairwise(yields))]
    return steps[milli_at - 1], steps[milli_at]


@pytest.mark.parametrize("preset", ["Balanced", "Throughput", "Completion"])
def test_no_gpu_would_bring_more_to_the_other_job(preset: str) -> None:
    policy = a_policy(objective={"preset": preset})
    jobs = (elastic("falling", FALLING), elastic("steady", STEADY))
    plan_input = plan_input_of(seen(NODE, policy, *jobs), ProblemBuilder())
    placements = solve(plan_input.problem).placements
    falling, steady = plan_input.problem.jobs
    sizes = {job.name: len(placements[job.name]) for job in (falling, steady)}
    assert sum(sizes.values()) == GPUS
    assert sizes[falling.name] < sizes[steady.name]
    last, more = gains(falling, sizes[falling.name])
    other_last, other_more = gains(steady, sizes[steady.name])
    assert last >= other_more
    assert other_last >= more


def test_a_job_alone_is_not_given_what_brings_less_than_it_costs() -> None:
    """Where curves end flat, GPUs stay idle rather than draw power and money for nothing."""
    plan_input = plan_input_of(
        seen(NODE, elastic("flat", {1: 100, 4: 300, 12: 300})), ProblemBuilder()
    )
    (assignments,) = solve(plan_input.problem).placements.values()
    assert len(assignments) == 4
