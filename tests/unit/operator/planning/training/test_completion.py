"""What sizes are worth where the mean time to completion counts."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Job, JobName
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_policy, a_training_job

COMPLETION = a_policy(objective={"preset": "Completion"})
NODE = fake_node("n-0", gpus=8)
LINEAR = {H100: {1: 10, 8: 80}}
HOUR = 36_000
"""So many units are an hour of work on one GPU."""


def elastic(name: str, *, hours: float = 4, **fields: Any) -> Manifest:  # noqa: ANN401
    work = {"amount": int(hours * HOUR)}
    return a_training_job(name, workers=(1, 8), rates=LINEAR, work=work, **fields)


def running(job: Manifest, workers: int, *, done: int = 0) -> Manifest:
    since = (NOW - timedelta(hours=1)).isoformat()
    progress = {"done": done, "lastCheckpoint": NOW.isoformat()}
    return at(job, *["n-0"] * workers, startedTime=since, progress=progress)


def workers(*manifests: Manifest) -> dict[str, int]:
    """How many workers each job has by the plan."""
    plan_input = plan_input_of(seen(NODE, *manifests), ProblemBuilder())
    placements = solve(plan_input.problem).placements
    return {name.rpartition("/")[2]: len(assignments) for name, assignments in placements.items()}


def the_job(*manifests: Manifest) -> Job:
    (job,) = plan_input_of(seen(NODE, *manifests), ProblemBuilder()).problem.jobs
    return job


def test_each_gpu_more_is_worth_less_to_a_job() -> None:
    (yields,) = the_job(COMPLETION, elastic("one")).roles[0].yields.values()
    steps = [above - below for below, above in pairwise(yields)]
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] > 0


def test_elastic_jobs_share_what_there_is() -> None:
    assert workers(COMPLETION, elastic("one"), elastic("two")) == {"one": 4, "two": 4}


def test_who_has_little_left_gets_more() -> None:
    shared = workers(COMPLETION, elastic("short", hours=0.5), elastic("long", hours=16))
    assert shared["short"] > shared["long"]


def test_nobody_grows_who_would_be_done_before_it_pays() -> None:
    left = running(elastic("almost"), 2, done=int(3.97 * HOUR))
    assert workers(COMPLETION, left) == {"almost": 2}
    begun = running(elastic("begun"), 2)
    assert workers(COMPLETION, begun)["begun"] > 2


@pytest.mark.parametrize("preset", ["Completion", "Balanced"])
def test_the_plan_says_what_becomes_of_jobs_by_either_aim(preset: str) -> None:
    policy = a_policy(objective={"preset": preset})
    snapshot = seen(NODE, policy, elastic("one"))
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    plan = plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem)))
    assert [change.job for change in plan.changes] == [JobName("TrainingJob/team/one")]


def test_another_aim_is_seen_at_once() -> None:
    translator = ProblemBuilder()
    found = [
        plan_input_of(seen(NODE, elastic("one"), *policy), translator)
        .problem.jobs[0]
        .roles[0]
        .yields
        for policy in ([], [COMPLETION], [])
    ]
    assert found[0] == found[2] != found[1]
