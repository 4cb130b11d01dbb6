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
from support.objects.job_manifests import a_policy, a_training_job, without_speeds

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


def test_work_in_a_unit_that_nobody_knows_the_speed_of_counts_nothing() -> None:
    short, long = (
        the_job(COMPLETION, without_speeds(elastic("job", hours=hours))) for hours in (0.5, 400)
    )
    assert short.roles == long.roles


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


def starting(job: Manifest, workers: int, *, seconds_ago: int) -> Manifest:
    """A job whose pods became ready a while ago, and that has not said yet how fast it is."""
    since = (NOW - timedelta(seconds=seconds_ago)).isoformat()
    return at(job, *["n-0"] * workers, startedTime=since, progress={"done": 0})


def test_nobody_grows_who_has_yet_to_begin_where_it_is() -> None:
    checkpoint = {"saveSeconds": 0, "restoreSeconds": 120}
    job = elastic("new", hours=40, checkpoint=checkpoint)
    assert workers(COMPLETION, starting(job, 1, seconds_ago=150)) == {"new": 1}
    assert workers(COMPLETION, starting(job, 1, seconds_ago=600))["new"] > 1


def test_who_has_yet_to_begin_shrinks_where_another_would_have_to_wait() -> None:
    job = elastic("new", hours=40, checkpoint={"saveSeconds": 0, "restoreSeconds": 120})
    assert set(workers(COMPLETION, starting(job, 8, seconds_ago=10), elastic("two"))) == {
        "new",
        "two",
    }


def test_what_pods_took_to_start_counts_for_the_next_restart() -> None:
    since, checkpoint = NOW - timedelta(hours=1), {"saveSeconds": 0, "restoreSeconds": 60}
    costs = [
        the_job(
            COMPLETION,
            at(
                elastic("one", checkpoint=checkpoint),
                "n-0",
                admittedTime=(since - timedelta(seconds=seconds)).isoformat(),
                startedTime=since.isoformat(),
                progress={"done": 0, "lastCheckpoint": NOW.isoformat()},
            ),
        ).stop_seconds
        for seconds in (10, 100)
    ]
    assert costs[0] < costs[1]


CLOSE = {"preferred": "kubernetes.io/hostname"}


def across(*nodes: Manifest, count: int) -> Job:
    """A job whose curve goes beyond one node, and that would rather be on one."""
    rates = {H100: {1: 10, 8: 80, 16: 160}}
    work = {"amount": HOUR}
    job = a_training_job("far", workers=(1, count), rates=rates, work=work, topology=CLOSE)
    (found,) = plan_input_of(seen(*nodes, COMPLETION, job), ProblemBuilder()).problem.jobs
    return found


def test_a_gang_across_nodes_loses_no_more_of_its_worth_than_its_speed_is_worth() -> None:
    """A tenth of its speed, to the power of 0.3."""
    assert across(NODE, count=8).crossing_percent == {H100: 3}


def test_a_size_that_no_node_can_hold_loses_nothing_for_being_across_nodes() -> None:
    far = across(NODE, fake_node("n-1", gpus=8), count=16)
    near = across(fake_node("n-0", gpus=16), count=16)
    (there,), (here,) = (job.roles[0].yields.values() for job in (far, near))
    assert there[:8] == here[:8]
    kept = 100 - next(iter(far.crossing_percent.values()))
    assert [milli * kept / 100 for milli in there[8:]] == pytest.approx(here[8:], abs=1)


def disturbed(job: Manifest, times: int) -> Manifest:
    """The job as one that has had its size for an hour, of the two since it came."""
    at_times = [(NOW - timedelta(hours=1 + n)).isoformat() for n in range(times)]
    job["status"]["disruptionTimes"] = at_times
    job["metadata"]["creationTimestamp"] = (NOW - timedelta(hours=2)).isoformat()
    return job


def test_who_was_changed_often_is_expected_to_be_changed_soon() -> None:
    costs = [
        the_job(COMPLETION, disturbed(running(elastic("one"), 2), times)).stop_seconds
        for times in (1, 20)
    ]
    assert costs[0] < costs[1]


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
