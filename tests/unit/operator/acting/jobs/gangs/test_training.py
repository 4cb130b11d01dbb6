from collections.abc import Callable, Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from plimsoll.acting.jobs.gangs.training import training_step
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.api.parts.conditions import condition, is_true
from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.observe.measured.reports import WorkerReport
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Action, Admit, Hold, Preempt, Resize
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.seen import NAMESPACE, NOW, a_report, at, seen
from support.objects.job_manifests import a_gpu_pod, a_training_job

SEGMENTATION_FAULT = {
    "name": "main",
    "state": {"terminated": {"exitCode": 139, "reason": "Error"}},
}
NAME = JobName(f"TrainingJob/{NAMESPACE}/train")
PODS = ["train-worker-0", "train-worker-1"]
STARTED = (NOW - timedelta(minutes=5)).isoformat()


def gang(**status: Any) -> Manifest:  # noqa: ANN401 - fields of a status
    """Two workers, placed on one node of four GPUs."""
    return at(a_training_job("train", workers=2), "node", "node", **status)


def stepped(
    *manifests: Manifest,
    decided: Action | None = None,
    node: Manifest | None = None,
    reports: Iterable[WorkerReport] = (),
) -> Step:
    """What becomes of the job in one turn."""
    snapshot = seen(node or fake_node("node", gpus=4), *manifests, reports=reports)
    (view,) = snapshot.jobs
    assert view.training is not None
    actions: dict[str, Action] = {} if decided is None else {decided.job: decided}
    return training_step(view, view.training, Turn(snapshot, Occupancy(snapshot), decided=actions))


def status_of(step: Step) -> TrainingJobStatus:
    assert isinstance(step.status, TrainingJobStatus)
    return step.status


def made(step: Step) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in step.create]


def gone(step: Step) -> list[str]:
    return [pod.name for pod in step.delete]


def pods(job: Manifest, *, phase: str = "Running") -> tuple[Manifest, Manifest]:
    """The pods that the job's placement leads to, bound, and ready if they run."""
    places = {key: job["status"][key] for key in ("placement", "revision")}
    first, second = stepped({**job, "status": places}).create
    ready = [{"type": "Ready", "status": "True"}] if phase == "Running" else []
    for pod in (first, second):
        pod["spec"]["nodeName"] = "node"
        pod["metadata"]["creationTimestamp"] = (NOW - timedelta(minutes=1)).isoformat()
        pod["status"] = {"phase": phase, "conditions": ready}
    return first, second


def failed(pod: Manifest) -> None:
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    pod["status"] = {"phase": "Failed", "containerStatuses": [{"name": "m", "state": ended}]}


def deleting(pod: Manifest) -> None:
    pod["metadata"]["deletionTimestamp"] = NOW.isoformat()


def unschedulable(pod: Manifest, seconds_ago: int, message: str = "no") -> None:
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    pod["status"] = {"phase": "Pending", "conditions": [why]}
    pod["metadata"]["creationTimestamp"] = (NOW - timedelta(seconds=seconds_ago)).isoformat()
    del pod["spec"]["nodeName"]


def test_a_gang_with_a_place_gets_all_its_pods_and_a_service() -> None:
    step = stepped(gang())
    assert made(step) == PODS
    assert step.service is not None


def test_a_single_worker_needs_no_service() -> None:
    assert stepped(at(a_training_job("train"), "node")).service is None


def test_what_a_crash_left_out_is_made_up_for() -> None:
    job = gang()
    step = stepped(job, pods(job)[0])
    assert made(step) == ["train-worker-1"]
    assert status_of(step).revision == 1


def test_a_gang_waits_while_its_place_is_not_free_yet() -> None:
    step = stepped(gang(), a_gpu_pod("other", "node", gpus=3))
    assert not step.create
    assert step.waits
    assert status_of(step).reason == "WaitingForCapacity"
    again = stepped({**gang(), "status": step.status.wire()}, a_gpu_pod("other", "node", gpus=3))
    assert again.waits
    assert not again.has_writes, "it is reported once"


def test_a_gang_whose_node_is_gone_gets_no_pods() -> None:
    job = at(a_training_job("train", workers=2), "node", "gone")
    step = stepped(job)
    assert not step.create
    assert step.waits


def test_a_gang_runs_when_all_its_workers_are_ready() -> None:
    job = gang()
    status = status_of(stepped(job, *pods(job)))
    assert is_true(status.conditions, "Running")
    assert status.started_time == NOW


def test_a_worker_that_is_done_before_the_others_are_up_counts_as_up() -> None:
    job = gang()
    first, second = pods(job)
    first["status"] = {"phase": "Succeeded"}
    assert status_of(stepped(job, first, second)).started_time == NOW


def test_a_worker_that_is_done_may_be_deleted() -> None:
    job = gang(startedTime=STARTED)
    first, second = pods(job)
    first["status"] = {"phase": "Succeeded"}
    deleting(first)
    assert not stepped(job, first, second).has_writes


@pytest.mark.parametrize("phase", ["Pending", "Succeeded"])
def test_a_gang_does_not_run_until_the_last_is_up(phase: str) -> None:
    job = gang()
    first, second = pods(job, phase=phase)
    second["status"] = {"phase": "Pending"}
    step = stepped(job, first, second)
    assert not is_true(step.status.conditions, "Running")
    assert (step.create, step.delete) == ((), ())


def test_a_worker_that_fails_takes_its_gang_along() -> None:
    job = gang(startedTime=STARTED)
    first, second = pods(job)
    failed(second)
    step = stepped(job, first, second)
    status = status_of(step)
    assert gone(step) == PODS
    assert (status.revision, status.restarts, status.restart_times) == (2, 1, (NOW,))
    assert status.started_time is None
    assert status.next_restart_time == NOW + timedelta(seconds=10)
    assert status.placement is not None
    assert {each.revision for each in status.placement.assignments} == {2}
    assert status.message == (
        "worker 1 on node failed with exit code 137 (OOMKilled); the gang restarts in 10 s"
    )


def evicted(pod: Manifest) -> None:
    failed(pod)
    pod["status"]["reason"] = "Evicted"


@pytest.mark.parametrize("happens", [deleting, evicted])
def test_a_worker_that_is_taken_away_takes_its_gang_along_and_is_not_counted(
    happens: Callable[[Manifest], None],
) -> None:
    job = gang(startedTime=STARTED)
    first, second = pods(job)
    happens(second)
    status = status_of(stepped(job, first, second))
    assert status.revision == 2
    assert (status.restarts, status.restart_times, status.next_restart_time) == (0, (), None)
    assert "was removed" in status.message


def test_a_gang_that_is_evicted_and_ends_well_is_not_complete() -> None:
    job = gang(startedTime=STARTED)
    targeted = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    both = pods(job)
    for pod in both:
        pod["status"] = {"phase": "Succeeded", "conditions": [targeted]}
        deleting(pod)
    status = status_of(stepped(job, *both))
    assert (status.revision, status.finished_time) == (2, None)
    assert "was removed" in status.message


def test_a_worker_whose_pod_is_gone_takes_its_gang_along() -> None:
    job = gang(startedTime=STARTED)
    step = stepped(job, pods(job)[0])
    assert gone(step) == PODS[:1]
    assert not step.create
    assert status_of(step).revision == 2


@pytest.mark.parametrize(
    ("failures", "pause"), [(0, 10), (1, 20), (2, 40), (4, 160), (5, 300), (60, 300)]
)
def test_pauses_double_up_to_the_longest(failures: int, pause: int) -> None:
    job = gang(startedTime=STARTED, restartTimes=[STARTED] * failures)
    job["spec"]["faultTolerance"] = {"maxRestarts": 100}
    first, second = pods(job)
    failed(first)
    status = status_of(stepped(job, first, second))
    assert status.next_restart_time == NOW + timedelta(seconds=pause)


def test_until_the_pause_is_over_no_pod_is_made() -> None:
    soon = NOW + timedelta(seconds=3)
    step = stepped(gang(nextRestartTime=soon.isoformat()))
    assert not step.has_writes
    assert step.again_at == soon
    assert made(stepped(gang(nextRestartTime=NOW.isoformat()))) == PODS


def test_after_its_last_restart_a_job_has_failed_and_says_why() -> None:
    job = gang(startedTime=STARTED, restartTimes=[STARTED] * 3, restarts=3)
    first, second = pods(job)
    failed(first)
    step = stepped(job, first, second)
    status = status_of(step)
    assert is_true(status.conditions, "Failed")
    assert status.finished_time == NOW
    assert gone(step) == PODS[1:], "what failed is kept for its logs"
    assert status.message.startswith("worker 0 on node failed with exit code 137 (OOMKilled)")
    assert "3 restarts" in status.message


def test_failures_of_long_ago_are_forgiven() -> None:
    long_ago = (NOW - timedelta(hours=25)).isoformat()
    job = gang(startedTime=STARTED, restartTimes=[long_ago] * 3, restarts=3)
    first, second = pods(job)
    failed(first)
    status = status_of(stepped(job, first, second))
    assert not is_true(status.conditions, "Failed")
    assert (status.restarts, status.restart_times) == (4, (NOW,))


def test_pods_of_before_go_first() -> None:
    job = gang()
    job["status"]["placement"]["revision"] = 2
    for place in job["status"]["placement"]["assignments"]:
        place["revision"] = 2
    old = pods(gang())
    step = stepped(job, *old)
    assert gone(step) == PODS
    assert not step.create
    for pod in old:
        deleting(pod)
    assert not stepped(job, *old).has_writes


@pytest.mark.parametrize(
    ("node", "ended_seconds_ago", "deleted", "again_in"),
    [
        pytest.param("node", 60, [], None, id="its node will end it"),
        pytest.param("gone", 5, [], 5, id="not late enough"),
        pytest.param("gone", 10, PODS[:1], 0, id="its node is gone and it is late"),
    ],
)
def test_a_pod_of_before_is_given_up_where_its_node_never_ends_it(
    node: str, ended_seconds_ago: int, deleted: list[str], again_in: int | None
) -> None:
    job = gang()
    old, _ = pods(job)
    old["spec"]["nodeName"] = node
    ends_by = NOW - timedelta(seconds=ended_seconds_ago)
    old["metadata"]["deletionTimestamp"] = ends_by.isoformat()
    job["status"]["placement"]["revision"] = 2
    step = stepped(job, old)
    assert gone(step) == deleted
    again = None if again_in is None else NOW + timedelta(seconds=again_in)
    assert step.again_at == again


def test_a_gang_that_a_node_throws_out_at_once_pauses_before_it_comes_back() -> None:
    job = gang()
    first, second = pods(job)
    evicted(first)
    first["metadata"]["creationTimestamp"] = (NOW - timedelta(seconds=3)).isoformat()
    status = status_of(stepped(job, first, second))
    assert (status.revision, status.restarts) == (2, 0)
    assert status.next_restart_time == NOW + timedelta(seconds=7)


def test_a_failure_is_held_against_the_node() -> None:
    job = gang(startedTime=STARTED)
    first, second = pods(job)
    second["status"] = {"phase": "Failed", "containerStatuses": [SEGMENTATION_FAULT]}
    (failure,) = status_of(stepped(job, first, second)).failures
    assert (failure.node, failure.time) == ("node", NOW)
    assert failure.message == "failed with exit code 139 (Error)"


def test_a_pod_that_ran_where_no_worker_was_placed_speaks_against_no_node() -> None:
    job = gang(startedTime=STARTED)
    first, second = pods(job)
    second["status"] = {"phase": "Failed", "containerStatuses": [SEGMENTATION_FAULT]}
    second["spec"]["nodeName"] = "victim"
    assert status_of(stepped(job, first, second)).failures == ()


def test_a_worker_that_ran_out_of_memory_is_not_held_against_its_node() -> None:
    job = gang(startedTime=STARTED)
    first, second = pods(job)
    failed(second)
    assert status_of(stepped(job, first, second)).failures == ()


def test_old_failures_are_forgotten() -> None:
    old = {"node": "node", "time": (NOW - timedelta(hours=25)).isoformat()}
    job = gang(startedTime=STARTED, failures=[old])
    first, second = pods(job)
    failed(second)
    assert status_of(stepped(job, first, second)).failures == ()


def test_on_a_node_that_was_closed_the_scheduler_is_given_no_time() -> None:
    job = gang()
    first, second = pods(job)
    unschedulable(first, 1)
    cordoned = fake_node("node", gpus=4)
    cordoned["spec"]["unschedulable"] = True
    status = status_of(stepped(job, first, second, node=cordoned))
    assert status.placement is None


def test_a_job_is_complete_when_all_its_workers_have_succeeded() -> None:
    job = gang(startedTime=STARTED)
    step = stepped(job, *pods(job, phase="Succeeded"))
    status = status_of(step)
    assert is_true(status.conditions, "Complete")
    assert not is_true(status.conditions, "Admitted")
    assert (status.finished_time, status.worker_count) == (NOW, 0)
    assert not step.delete


@pytest.mark.parametrize("end", ["Complete", "Failed"])
def test_of_a_job_that_has_ended_nothing_is_started_and_nothing_goes_on(end: str) -> None:
    condition = {"type": end, "status": "True", "reason": end, "lastTransitionTime": STARTED}
    job = gang(conditions=[condition])
    step = stepped(job, pods(job)[1])
    assert gone(step) == PODS[1:]
    assert not step.create
    assert step.status == stepped(job).status


def test_where_the_scheduler_refuses_for_long_the_place_is_given_up_and_avoided() -> None:
    job = gang(avoidedNodes=[{"node": "x", "until": STARTED}])
    first, second = pods(job)
    unschedulable(first, 20)
    step = stepped(job, first, second)
    status = status_of(step)
    assert status.placement is None
    (avoided,) = status.avoided_nodes
    assert (avoided.node, avoided.until) == ("node", NOW + timedelta(minutes=10)), "and no longer x"
    assert gone(step) == PODS


def test_what_no_node_would_do_for_is_not_tried_on_one_after_the_other() -> None:
    job = gang()
    first, second = pods(job)
    said = (
        '0/3 nodes are available: persistentvolumeclaim "data" not found. preemption: 0/3 nodes are'
        " available: 3 Preemption is not helpful for scheduling."
    )
    unschedulable(first, 20, said)
    status = status_of(stepped(job, first, second))
    assert (status.placement, status.avoided_nodes, status.refusals) == (None, (), 1)
    assert status.reason == "PodRefused"
    why = 'can bind train-worker-0 to no node: persistentvolumeclaim "data" not found; tried again'
    assert why in status.message


def test_a_node_that_lacks_something_is_avoided() -> None:
    job = gang()
    first, second = pods(job)
    said = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match node affinity."
    unschedulable(first, 20, said)
    status = status_of(stepped(job, first, second))
    assert status.reason == "NodeRefused"
    assert [each.node for each in status.avoided_nodes] == ["node"]


def test_the_scheduler_is_given_some_time() -> None:
    job = gang()
    first, second = pods(job)
    unschedulable(first, 5)
    step = stepped(job, first, second)
    assert status_of(step).placement is not None
    assert step.again_at == NOW + timedelta(seconds=15)


def test_a_suspended_job_gives_up_its_place_and_its_pods() -> None:
    job = gang(nextRestartTime=STARTED)
    there = pods(job)
    job["spec"]["suspend"] = True
    step = stepped(job, *there)
    assert gone(step) == PODS
    assert status_of(step).placement is None
    assert status_of(step).next_restart_time is None
    assert status_of(step).reason == "Suspended"
    written = {**job, "status": step.status.wire()}
    assert not stepped(written).has_writes, "it is reported once"


def test_a_preempted_job_says_so_and_remembers_it() -> None:
    yesterday = (NOW - timedelta(hours=24)).isoformat()
    job = gang(startedTime=STARTED, disruptionTimes=[yesterday])
    decided = Preempt(NAME, Reason.PREEMPTED, "makes room")
    step = stepped(job, *pods(job), decided=decided)
    status = status_of(step)
    assert gone(step) == PODS
    assert (status.placement, status.reason) == (None, "Preempted")
    assert status.disruption_times == (NOW,)


def test_a_job_whose_node_must_be_left_does_not_count_it_as_a_disturbance() -> None:
    decided = Preempt(NAME, Reason.NODE_LEFT, "node is gone")
    assert status_of(stepped(gang(), decided=decided)).disruption_times == ()


def test_a_waiting_job_has_no_pods_whatever_a_crash_has_left() -> None:
    hold = Hold(NAME, Reason.INSUFFICIENT_GPUS, "needs more")
    job = gang()
    left = pods(job)
    del job["status"]["placement"]
    step = stepped(job, *left, decided=hold)
    assert gone(step) == PODS
    assert (status_of(step).reason, status_of(step).message) == ("InsufficientGPUs", "needs more")


def assignments(count: int) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(RoleName("worker"), rank, GpuType(H100), (NodeName("node"),))
        for rank in range(count)
    )


def test_an_admitted_job_writes_its_place_down_and_gets_its_pods() -> None:
    decided = Admit(NAME, assignments(2), Reason.ADMITTED, "placed")
    step = stepped(a_training_job("train", workers=2), decided=decided)
    status = status_of(step)
    assert status.placement is not None
    assert [each.nodes for each in status.placement.assignments] == [("node",), ("node",)]
    assert (status.revision, status.worker_count, status.admitted_time) == (1, 2, NOW)
    assert status.disruption_times == (), "it disturbs nobody"
    assert made(step) == PODS
    revisions = {each["metadata"]["labels"]["plimsoll.dev/revision"] for each in step.create}
    assert revisions == {"1"}


def test_a_gang_of_another_size_goes_before_it_comes() -> None:
    job = gang(startedTime=STARTED)
    decided = Resize(NAME, assignments(3), Reason.RESIZED, "from 2 to 3 workers")
    step = stepped(job, *pods(job), decided=decided)
    assert (status_of(step).revision, status_of(step).worker_count) == (2, 3)
    assert gone(step) == PODS
    assert not step.create
    assert status_of(step).started_time is None


@pytest.mark.parametrize("action", [None, Preempt(NAME, Reason.PREEMPTED, "for others")])
def test_what_workers_report_is_written_whatever_else_becomes_of_the_job(
    action: Action | None,
) -> None:
    job = gang(startedTime=STARTED)
    first, second = pods(job)
    said = a_report(first, done=Decimal(7), saved=Decimal(5), saved_at=NOW)
    step = stepped(job, first, second, decided=action, reports=[said])
    progress = status_of(step).progress
    assert progress is not None
    assert (progress.done, progress.saved_done) == (7, 5)
    assert step.has_writes


def adapting() -> Manifest:
    """A gang whose batch may grow, and whose workers can change it as they train."""
    job = a_training_job(
        "train",
        workers=2,
        rates={H100: {1: 100, 2: 110}},
        batch={"size": 128, "maxSize": 2048},
        work={"amount": 10**6, "unit": "samples"},
    )
    reported = {"done": 1, "unit": "samples", "gradientNoise": "10000", "batch": 128}
    found = at(job, "node", "node", startedTime=STARTED, progress=reported)
    found["status"]["placement"]["batch"] = {"size": 128, "local": 64, "accumulation": 1}
    return found


def test_a_batch_that_workers_can_change_is_changed_while_they_train() -> None:
    job = adapting()
    step = stepped(job, *pods(job))
    placement = status_of(step).placement
    assert placement is not None
    assert placement.batch is not None
    assert placement.batch.size > 128
    assert placement.revision == job["status"]["placement"]["revision"]
    assert (step.create, step.delete) == ((), ())
    assert [event.reason for event in step.events] == [Reason.BATCH_CHANGED]
    changed = {**job, "status": step.status.model_dump(mode="json", by_alias=True)}
    assert not stepped(changed, *pods(changed)).has_writes


def test_a_gang_that_goes_changes_its_batch_no_more() -> None:
    job = adapting()
    step = stepped(job, *pods(job), decided=Preempt(NAME, Reason.PREEMPTED, "makes room"))
    assert Reason.BATCH_CHANGED not in [event.reason for event in step.events]


@pytest.mark.parametrize(
    ("spec", "decided"),
    [
        ({"suspend": True}, None),
        ({}, Preempt(NAME, Reason.PREEMPTED, "makes room")),
        ({}, Hold(NAME, Reason.INSUFFICIENT_GPUS, "needs 1 GPU")),
    ],
)
def test_what_is_done_is_not_done_again_whatever_was_decided_meanwhile(
    spec: Manifest, decided: Action | None
) -> None:
    job = gang()
    step = stepped(
        {**job, "spec": {**job["spec"], **spec}}, *pods(job, phase="Succeeded"), decided=decided
    )
    assert is_true(step.status.conditions, "Complete")
    assert status_of(step).finished_time == NOW


def test_that_it_waits_for_room_is_said_no_longer_once_its_pods_are_made() -> None:
    job = gang()
    other = a_gpu_pod("other", "node", gpus=4)
    waits = stepped(job, other)
    assert waits.status.reason == "WaitingForCapacity"
    job["status"] = waits.status.wire()
    step = stepped(job)
    assert made(step)
    running = condition(step.status.conditions, "Running")
    assert running is not None
    assert (running.status, running.reason) == ("False", Reason.STARTING)


def test_a_job_that_loses_its_place_before_it_starts_does_not_claim_to_wait_there() -> None:
    job = gang()
    job["status"] = stepped(job, a_gpu_pod("other", "node", gpus=4)).status.wire()
    hold = Hold(NAME, Reason.INSUFFICIENT_GPUS, "needs 2 GPUs")
    running = condition(stepped(job, decided=hold).status.conditions, "Running")
    assert running is not None
    assert (running.reason, running.message) == (Reason.INSUFFICIENT_GPUS, "")
