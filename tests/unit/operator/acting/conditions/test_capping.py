import pytest

from plimsoll.acting.conditions.simple import POWER_CAPPED
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.api.parts.conditions import Condition, condition
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Hold
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NAMESPACE, at, pods_of, seen
from support.objects.job_manifests import a_training_job, an_inference_job

WHY, LOWER = "limited to 300 W", "limited to 250 W"
JOBS = [at(a_training_job("job"), "n"), at(an_inference_job("job"), "n")]


def name_of(job: Manifest) -> JobName:
    return JobName(f"{job['kind']}/{NAMESPACE}/job")


def steps(job: Manifest, why: str | None = None, *, hold: Hold | None = None) -> list[Step]:
    pods = pods_of(job) if hold is None else []
    snapshot = seen(fake_node("n"), job, *pods)
    name = name_of(job)
    capped = {} if why is None else {name: why}
    decided = {} if hold is None else {name: hold}
    turn = Turn(snapshot, Occupancy(snapshot), decided={**decided}, capped=capped)
    return [step for step in Steps().of(turn, set()) if _says(step)]


def _says(step: Step) -> bool:
    """Whether there is anything to report; pods of a service get labels besides."""
    return bool(step.events) or step.status != step.job.status_written


def written(step: Step, job: Manifest) -> Manifest:
    return {**job, "status": step.status.wire()}


def settled(job: Manifest) -> Manifest:
    """The job, with all said that there is to say of its place."""
    while found := steps(job):
        job = written(found[0], job)
    return job


def reported(step: Step) -> Condition:
    found = condition(step.status.conditions, POWER_CAPPED)
    assert found is not None
    return found


@pytest.mark.parametrize("job", JOBS, ids=["training", "inference"])
def test_a_job_says_that_it_is_capped_with_one_event_when_it_begins_and_when_it_ends(
    job: Manifest,
) -> None:
    job = settled(job)
    [begins] = steps(job, WHY)
    assert (reported(begins).status, reported(begins).reason, reported(begins).message) == (
        "True",
        "PowerCapped",
        WHY,
    )
    assert [(event.reason, event.message) for event in begins.events] == [
        (Reason.POWER_CAPPED, WHY)
    ]
    job = written(begins, job)
    assert steps(job, WHY) == []

    [lower] = steps(job, LOWER)
    assert (reported(lower).message, lower.events) == (LOWER, ())
    job = written(lower, job)

    [ends] = steps(job)
    assert (reported(ends).status, reported(ends).reason) == ("False", "PowerReleased")
    assert [event.reason for event in ends.events] == [Reason.POWER_RELEASED]
    assert steps(written(ends, job)) == []


def test_its_place_and_reason_are_left_as_they_were() -> None:
    job = settled(JOBS[0])
    [step] = steps(job, WHY)
    before = job["status"]
    assert (step.status.reason, step.status.message) == (before["reason"], before["message"])
    assert (step.delete, step.create) == ((), ())


def test_a_job_that_was_never_capped_says_nothing_of_it() -> None:
    assert all(each["type"] != POWER_CAPPED for each in settled(JOBS[0])["status"]["conditions"])


def test_a_job_that_lost_its_place_takes_it_back_without_an_event() -> None:
    job = settled(JOBS[0])
    [capped] = steps(job, WHY)
    waiting = written(capped, job)
    hold = Hold(name_of(job), Reason.INSUFFICIENT_GPUS, "needs one")
    facts = {"reason": hold.reason.value, "message": hold.message}
    conditions = waiting["status"]["conditions"]
    waiting = {**waiting, "status": {**facts, "conditions": conditions}}
    [step] = steps(waiting, hold=hold)
    assert reported(step).status == "False"
    assert Reason.POWER_RELEASED not in {event.reason for event in step.events}
    assert steps(written(step, waiting), hold=hold) == []
