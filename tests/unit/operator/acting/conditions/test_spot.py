from plimsoll.acting.conditions.simple import SPOT_USABLE, spot_facts
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.api.parts.conditions import condition
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Hold
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NAMESPACE, NOW, at, pods_of, seen
from support.objects.job_manifests import a_training_job

NAME = JobName(f"TrainingJob/{NAMESPACE}/train")
WHY = "time is short"
PLACED = at(a_training_job("train"), "n")


def steps(job: Manifest, *, why: str | None = None, hold: Hold | None = None) -> list[Step]:
    pods = pods_of(job) if "placement" in job.get("status", {}) else []
    snapshot = seen(fake_node("n"), job, *pods)
    decided = {} if hold is None else {NAME: hold}
    off_spot = {} if why is None else {NAME: why}
    turn = Turn(snapshot, Occupancy(snapshot), decided={**decided}, off_spot=off_spot)
    return [step for step in Steps().of(turn, set()) if step.has_writes]


def written(step: Step, job: Manifest) -> Manifest:
    return {**job, "status": step.status.wire()}


def running() -> Manifest:
    """The job, with all said that there is to say of its place."""
    job = PLACED
    while found := steps(job):
        job = written(found[0], job)
    return job


def test_a_job_that_must_leave_spot_says_so_once_with_an_event() -> None:
    job = running()
    [step] = steps(job, why=WHY)
    found = condition(step.status.conditions, SPOT_USABLE)
    assert found is not None
    assert (found.status, found.reason, found.message) == ("False", "DeadlineAtRisk", WHY)
    assert [(event.reason, event.message) for event in step.events] == [
        (Reason.DEADLINE_AT_RISK, WHY)
    ]
    assert steps(written(step, job), why="in other numbers") == []


def test_its_place_and_reason_are_left_as_they_were() -> None:
    job = running()
    [step] = steps(job, why=WHY)
    before = job["status"]
    assert (step.status.reason, step.status.message) == (before["reason"], before["message"])
    assert (step.delete, step.create) == ((), ())


def test_with_time_again_the_condition_holds_and_nothing_is_made_of_it() -> None:
    job = running()
    [step] = steps(job, why=WHY)
    [back] = steps(written(step, job))
    found = condition(back.status.conditions, SPOT_USABLE)
    assert found is not None
    assert (found.status, back.events) == ("True", ())
    assert steps(written(back, job)) == []


def test_a_job_that_waits_and_has_said_so_still_reports_it() -> None:
    hold = Hold(NAME, Reason.INSUFFICIENT_GPUS, "needs one")
    [step] = steps(a_training_job("train"), hold=hold)
    job = written(step, a_training_job("train"))
    assert steps(job, hold=hold) == []
    [step] = steps(job, hold=hold, why=WHY)
    assert condition(step.status.conditions, SPOT_USABLE) is not None


def test_a_job_that_has_ended_says_no_more_of_spot() -> None:
    job = running()
    [step] = steps(job, why=WHY)
    job = written(step, job)
    since = {"lastTransitionTime": NOW.isoformat()}
    complete = {"type": "Complete", "status": "True", "reason": "Completed", **since}
    job["status"]["conditions"] = [*job["status"]["conditions"], complete]
    # Its pods are still to be deleted, and that is all.
    for each in steps(job):
        kept = condition(each.status.conditions, SPOT_USABLE)
        assert kept is not None
        assert kept.status == "False"
    snapshot = seen(fake_node("n"), job)
    [view] = snapshot.jobs
    assert not spot_facts(view, view.resource.status, Turn(snapshot, Occupancy(snapshot)))
