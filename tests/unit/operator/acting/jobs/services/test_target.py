from datetime import datetime, timedelta

import pytest

from plimsoll.acting.jobs.services.target import target_refused, target_step
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, TargetWrites, Turn
from plimsoll.api.inference_job import InferenceJobStatus, TargetStatus
from plimsoll.api.parts.conditions import condition
from plimsoll.kube.watching.workloads import Reading
from plimsoll.observe.snapshot import JobName, JobView
from plimsoll.planning.actions import Action, Hold, Migrate, Preempt, Resize
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.seen import NAMESPACE, NOW, a_reading, seen
from support.clusters.target_lives import a_targeting_job, a_workload
from support.objects.job_manifests import a_gpu_pod
from support.objects.target_pods import a_numbered_pod, a_scaled_job, a_target_pod

NAME = JobName(f"InferenceJob/{NAMESPACE}/serve")


def on(*nodes: str) -> tuple[Assignment, ...]:
    role, kind = RoleName("target"), GpuType(H100)
    return tuple(Assignment(role, n, kind, (NodeName(node),)) for n, node in enumerate(nodes))


def resized(*nodes: str) -> Resize:
    return Resize(NAME, on(*nodes), Reason.RESIZED, "as the load wants it")


def stepped(
    *manifests: Manifest,
    target: Manifest | None = None,
    reading: Reading | None = None,
    decided: Action | None = None,
    now: datetime = NOW,
) -> Step:
    nodes = fake_node("a", gpus=4), fake_node("b", gpus=4)
    targets = [reading or a_reading(target or a_workload())]
    snapshot = seen(*nodes, *manifests, targets=targets, now=now)
    (view,) = snapshot.jobs
    assert view.inference is not None
    actions: dict[str, Action] = {} if decided is None else {decided.job: decided}
    return target_step(view, view.inference, Turn(snapshot, Occupancy(snapshot), decided=actions))


def set_by(manager: str, target: Manifest) -> Manifest:
    """The workload, with who set its count last."""
    entry: Manifest = {"manager": manager, "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    return {**target, "metadata": {**target["metadata"], "managedFields": [entry]}}


def writes(step: Step) -> TargetWrites:
    assert step.target is not None
    return step.target


def status_of(step: Step) -> InferenceJobStatus:
    assert isinstance(step.status, InferenceJobStatus)
    return step.status


def target_status(step: Step) -> TargetStatus:
    target = status_of(step).target
    assert target is not None
    return target


def able(step: Step) -> tuple[str, str] | None:
    found = condition(step.status.conditions, "AbleToScale")
    return None if found is None else (found.status, found.reason)


def first_to_go(step: Step) -> list[str]:
    return [pod.name for pod in writes(step).first_to_go]


def deleted(step: Step) -> list[str]:
    return [pod.name for pod in step.delete]


def test_a_count_that_was_decided_is_in_the_status_before_it_is_written() -> None:
    step = stepped(a_scaled_job(a_targeting_job(), "a"), decided=resized("a", "b"))
    assert (target_status(step).replicas, writes(step).replicas) == (2, 2)


def test_what_was_decided_before_a_crash_is_written_after_it() -> None:
    target = a_workload(replicas=1)
    job = a_scaled_job(a_targeting_job(replicas=3), "a", "a", "a")
    step = stepped(job, a_target_pod("p", "a"), target=target)
    assert writes(step).replicas == 3


def test_nothing_is_written_where_the_count_is_as_it_should_be() -> None:
    target = a_workload(replicas=1)
    step = stepped(a_scaled_job(a_targeting_job(), "a"), a_target_pod("p", "a"), target=target)
    assert step.target is None
    assert step.delete == ()


def test_what_runs_already_is_reported_and_left_as_it_is() -> None:
    target = a_workload(replicas=2)
    step = stepped(a_targeting_job(), a_target_pod("p", "a"), a_target_pod("q", "b"), target=target)
    placement = status_of(step).placement
    assert placement is not None
    assert [place.nodes[0] for place in placement.assignments] == ["a", "b"]
    assert (step.target, step.delete) == (None, ())
    assert target_status(step).replicas == 2
    assert step.has_writes, "the status is another than the API server has"


def test_who_shall_stay_is_not_who_a_replica_set_takes_first() -> None:
    target = a_workload(replicas=3)
    pods = a_target_pod("p", "a"), a_target_pod("q", "b"), a_target_pod("r", "a")
    job = a_scaled_job(a_targeting_job(), "a", "b", "a")
    step = stepped(job, *pods, target=target, decided=resized("b"))
    assert first_to_go(step) == ["p", "r"]
    assert deleted(step) == []


def test_of_numbered_replicas_none_is_marked() -> None:
    target = a_workload("StatefulSet", replicas=2)
    pods = [a_numbered_pod(n, "a") for n in range(2)]
    job = a_scaled_job(a_targeting_job(target=target), "a", "a")
    step = stepped(job, *pods, target=target, decided=resized("a"))
    assert (writes(step).replicas, first_to_go(step)) == (1, [])


def test_a_pod_that_moves_is_deleted_where_it_comes_back_behind_our_gate() -> None:
    move = Migrate(NAME, on("b"), Reason.MIGRATED, "cheaper")
    job, pod = a_scaled_job(a_targeting_job(), "a"), a_target_pod("p", "a")
    gated = stepped(job, pod, target=a_workload(gated=True), decided=move)
    assert (deleted(gated), gated.target) == (["p"], None)
    assert deleted(stepped(job, pod, target=a_workload(), decided=move)) == []


def test_a_numbered_replica_that_its_controller_would_keep_is_moved() -> None:
    target = a_workload("StatefulSet", replicas=2, gated=True)
    pods = [a_numbered_pod(n, "ab"[n]) for n in range(2)]
    job = a_scaled_job(a_targeting_job(target=target), "a", "b")
    step = stepped(job, *pods, target=target, decided=resized("b"))
    assert (writes(step).replicas, deleted(step)) == (1, ["web-0"])


def test_a_pod_behind_our_gate_is_sent_to_its_place_once_there_is_room() -> None:
    target = a_workload(gated=True)
    job, pod = a_scaled_job(a_targeting_job(), "b"), a_target_pod("p", gated=True)
    step = stepped(job, pod, target=target)
    assert [(each.pod.name, each.node) for each in writes(step).placed] == [("p", "b")]
    full = stepped(job, pod, a_gpu_pod("other", "b", gpus=4), target=target)
    assert full.target is None
    assert full.waits


def test_a_pod_without_a_place_waits_behind_the_gate() -> None:
    target = a_workload(replicas=1, gated=True)
    step = stepped(a_targeting_job(), a_target_pod("p", gated=True), target=target)
    assert step.target is None


def test_a_place_that_kube_scheduler_refuses_is_given_up_and_its_pod_comes_anew() -> None:
    pod = a_target_pod("p", sent="b")
    refusal = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod["status"]["conditions"] = [{**refusal, "message": "too little of everything"}]
    sent = int((NOW - timedelta(seconds=21)).timestamp())
    pod["metadata"]["labels"]["plimsoll.dev/placed-at"] = str(sent)
    step = stepped(a_scaled_job(a_targeting_job(), "b"), pod, target=a_workload(gated=True))
    assert deleted(step) == ["p"]
    assert [each.node for each in status_of(step).avoided_nodes] == ["b"]
    assert status_of(step).reason == Reason.NODE_REFUSED
    assert step.target is None, "the count stays"


def test_a_job_that_waits_or_whose_target_is_of_no_use_touches_nothing() -> None:
    hold = Hold(NAME, Reason.INSUFFICIENT_GPUS, "too few")
    pod = a_target_pod("p", gated=True)
    step = stepped(a_targeting_job(), pod, target=a_workload(gated=True), decided=hold)
    assert (step.target, step.delete, status_of(step).reason) == (None, (), "InsufficientGPUs")
    reading = a_reading(a_workload(), problem="it is gone")
    hold = Hold(NAME, Reason.FAILED_GET_SCALE, "it is gone", inadmissible=True)
    step = stepped(a_scaled_job(a_targeting_job(), "a"), pod, reading=reading, decided=hold)
    assert (step.target, step.delete) == (None, ())
    assert able(step) == ("False", "FailedGetScale")


@pytest.mark.parametrize("preempted", [True, False])
def test_a_job_that_gives_its_place_up_has_its_target_scaled_to_zero(*, preempted: bool) -> None:
    job = a_scaled_job(a_targeting_job(suspend=not preempted), "a")
    decided = Preempt(NAME, Reason.PREEMPTED, "makes room") if preempted else None
    step = stepped(job, a_target_pod("p", "a"), decided=decided)
    assert (target_status(step).replicas, writes(step).replicas) == (0, 0)
    assert status_of(step).placement is None
    assert deleted(step) == []


def contest(times: int, *, reached: bool = True) -> Step:
    """What is done about a change by somebody else, with so many before it."""
    before = [(NOW - timedelta(minutes=n + 1)).isoformat() for n in range(times)]
    status = {"replicas": 1, "reached": reached, "found": 1, "overriddenTimes": before}
    job = a_scaled_job(a_targeting_job(), "a", target=status)
    return stepped(job, a_target_pod("p", "a"), target=set_by("hpa", a_workload(replicas=3)))


def test_what_somebody_else_set_is_set_right_and_remembered() -> None:
    step = contest(0)
    assert writes(step).replicas == 1
    assert target_status(step).overridden_times == (NOW,)
    assert able(step) == ("True", "SucceededGetScale")


def test_who_sets_it_again_and_again_has_his_way_for_a_while_and_is_named() -> None:
    step = contest(2)
    assert step.target is None
    assert able(step) == ("False", "TargetContested")
    assert "hpa keeps setting spec.replicas of Deployment web" in step.events[0].message
    assert step.again_at == NOW - timedelta(minutes=2) + timedelta(minutes=10)


def test_a_count_that_we_may_not_have_set_yet_is_held_against_nobody() -> None:
    step = contest(2, reached=False)
    assert writes(step).replicas == 1
    assert len(target_status(step).overridden_times) == 2


def test_that_the_target_has_its_count_is_reported() -> None:
    step = stepped(a_scaled_job(a_targeting_job(), "a"), a_target_pod("p", "a"))
    assert target_status(step).reached
    assert not target_status(contest(0)).reached


def test_after_a_refusal_the_target_is_let_be_for_a_minute() -> None:
    job = a_scaled_job(a_targeting_job(replicas=2), "a", "a")
    view = seen(fake_node("a"), job, targets=[a_reading(a_workload())])
    turn = Turn(view, Occupancy(view))
    refused = target_refused(view.jobs[0], "no right to patch", turn)
    assert able(refused) == ("False", "FailedUpdateScale")
    later = {**job, "status": {**job["status"], "conditions": conditions_of(view.jobs[0], turn)}}
    assert stepped(later, now=NOW + timedelta(seconds=59)).target is None
    assert writes(stepped(later, now=NOW + timedelta(seconds=61))).replicas == 2


def conditions_of(view: JobView, turn: Turn) -> list[object]:
    found = target_refused(view, "no right to patch", turn).status.conditions
    return [each.wire() for each in found]


def goes_on(step: Step, later: timedelta, decided: Action | None = None) -> Step:
    """What comes after a step of which only the status was written."""
    job = a_scaled_job(a_targeting_job(), "a", "a")
    job["status"] = step.status.wire()
    pods = a_target_pod("p", "a"), a_target_pod("q", "a")
    target = a_workload(replicas=2)
    return stepped(job, *pods, target=target, decided=decided, now=NOW + later)


@pytest.mark.parametrize("decided", [None, Hold(NAME, Reason.INSUFFICIENT_GPUS, "needs 2 GPUs")])
def test_a_preempted_job_gives_up_its_replicas_though_the_first_write_failed(
    decided: Action | None,
) -> None:
    job = a_scaled_job(a_targeting_job(), "a", "a")
    pods = a_target_pod("p", "a"), a_target_pod("q", "a")
    preempt = Preempt(NAME, Reason.PREEMPTED, "makes room")
    first = stepped(job, *pods, target=a_workload(replicas=2), decided=preempt)
    assert writes(first).replicas == 0
    again = goes_on(first, timedelta(minutes=10), decided)
    assert status_of(again).placement is None
    assert (writes(again).replicas, writes(again).seen) == (0, 2)


def test_what_others_scale_up_after_it_was_given_up_is_theirs() -> None:
    job = a_scaled_job(a_targeting_job(), "a", "a")
    preempt = Preempt(NAME, Reason.PREEMPTED, "makes room")
    reached = stepped(job, target=a_workload(replicas=0), decided=preempt)
    assert target_status(reached).reached
    assert goes_on(reached, timedelta(minutes=10)).target is None
