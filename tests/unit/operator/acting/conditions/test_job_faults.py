from datetime import timedelta

from plimsoll.acting.conditions.job_faults import fault_step
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.api.parts.conditions import condition
from plimsoll.observe.observer import Observer
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.actions import Action
from plimsoll.planning.faults import Fault, Faults, Stage
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, objects_of, pods_of, seen
from support.objects.job_manifests import a_training_job
from support.problems.unbelievable import without_workers

NODE = fake_node("node", gpus=8)
WHY = "spec.workers.min: should be a valid integer; it is 'many'"


def a_turn(*manifests: Manifest, fault: bool = True, **facts: object) -> Turn:
    snapshot = seen(NODE, *manifests)
    faults = {view.name: a_fault(view) for view in snapshot.jobs} if fault else {}
    return Turn(snapshot, Occupancy(snapshot), faults=faults, **facts)  # type: ignore[arg-type]


def a_fault(view: JobView, stage: Stage = Stage.PLAN) -> Fault:
    return Fault(view.name, view.uid, 1, stage, WHY, NOW + timedelta(minutes=1))


def steps(turn: Turn) -> list[Step]:
    return [step for step in Steps().of(turn, frozenset()) if step.has_writes]


def running(name: str = "train") -> list[Manifest]:
    job = at(a_training_job(name), "node", admittedTime=NOW.isoformat())
    return [job, *pods_of(job)]


def test_a_job_that_waits_says_what_is_wrong_with_it() -> None:
    snapshot = seen(NODE, a_training_job("train"))
    [view] = snapshot.jobs
    decided: dict[str, Action] = {view.name: a_fault(view).hold()}
    turn = Turn(snapshot, Occupancy(snapshot), decided=decided)
    [step] = steps(turn)
    assert (step.status.reason, step.status.message) == (Reason.INVALID_SPEC, WHY)
    assert [event.warning for event in step.events] == [True]


def test_a_job_that_runs_runs_on_and_says_what_is_wrong_with_it() -> None:
    [step] = steps(a_turn(*running()))
    assert step.status.placement is not None
    assert (step.delete, step.create) == ((), ())
    accepted = condition(step.status.conditions, "Accepted")
    assert accepted is not None
    assert (accepted.status, accepted.reason) == ("False", Reason.INVALID_SPEC)
    assert accepted.message == f"it keeps running unchanged: {WHY}"


def test_that_is_said_once() -> None:
    job, *pods = running()
    [step] = steps(a_turn(job, *pods))
    assert not steps(a_turn({**job, "status": step.status.wire()}, *pods))


def test_a_job_that_is_mended_says_what_it_said_before() -> None:
    job, *pods = running()
    [started] = steps(a_turn(job, *pods, fault=False))
    job = {**job, "status": started.status.wire()}
    [faulty] = steps(a_turn(job, *pods))
    job = {**job, "status": faulty.status.wire()}
    [mended] = steps(a_turn(job, *pods, fault=False))
    assert condition(mended.status.conditions, "Accepted") is None
    assert mended.status.reason != Reason.INVALID_SPEC


def test_a_job_whose_step_fails_holds_no_other_up() -> None:
    """The first in order cannot be stepped; the one behind it gets its pods."""
    bad, good = at(a_training_job("a-bad"), "node"), at(a_training_job("good"), "node")
    snapshot = Observer().snapshot(without_workers(objects_of(NODE, bad, good), "a-bad"), NOW)
    faults = Faults()
    found = {
        step.job.resource.metadata.name: step
        for step in Steps(faults).of(Turn(snapshot, Occupancy(snapshot)), frozenset())
    }
    assert len(found["good"].create) == 1
    assert not found["a-bad"].create
    assert found["a-bad"].status.reason == Reason.INVALID_SPEC
    [fault] = faults.standing(snapshot).reported.values()
    assert fault.stage is Stage.ACT


def test_a_job_whose_step_failed_is_not_stepped_until_it_may_be_tried_again() -> None:
    snapshot = seen(NODE, a_training_job("train"))
    [view] = snapshot.jobs
    turn = Turn(snapshot, Occupancy(snapshot), faults={view.name: a_fault(view, Stage.ACT)})
    [step] = steps(turn)
    assert step.again_at == NOW + timedelta(minutes=1)
    assert step == fault_step(view, a_fault(view, Stage.ACT), turn)
