from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.acting.jobs.services.inference import inference_step
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.api.parts.conditions import condition
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Action, Hold, Preempt, Resize
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Assignment, GpuType, NodeName, RoleName
from support.clusters.seen import NAMESPACE, NOW, at, seen
from support.objects.job_manifests import a_gpu_pod, a_template, an_inference_job

NAME = JobName(f"InferenceJob/{NAMESPACE}/serve")
LONG_AGO = (NOW - timedelta(minutes=5)).isoformat()


def service(replicas: int = 3, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """Replicas of one GPU, all placed on one node of four."""
    job = an_inference_job("serve", replicas=replicas, **spec)
    return at(job, *["node"] * replicas)


def stepped(*manifests: Manifest, decided: Action | None = None) -> Step:
    """What becomes of the job in one turn."""
    snapshot = seen(fake_node("node", gpus=4), *manifests)
    (view,) = snapshot.jobs
    assert view.inference is not None
    actions: dict[str, Action] = {} if decided is None else {decided.job: decided}
    turn = Turn(snapshot, Occupancy(snapshot), decided=actions)
    return inference_step(view, view.inference, turn)


def pods(job: Manifest) -> list[Manifest]:
    """The pods that the job's placement leads to, all ready."""
    made = list(stepped(job).create)
    for pod in made:
        pod["metadata"]["creationTimestamp"] = LONG_AGO
        pod["spec"]["nodeName"] = "node"
        ready = [{"type": "Ready", "status": "True"}]
        pod["status"] = {"phase": "Running", "conditions": ready}
    return made


def renewed(job: Manifest) -> Manifest:
    """The job with another image."""
    template = a_template()
    template["spec"]["containers"][0]["image"] = "main:2"
    return {**job, "spec": an_inference_job("serve", replicas=3, template=template)["spec"]}


def status_of(step: Step) -> InferenceJobStatus:
    assert isinstance(step.status, InferenceJobStatus)
    return step.status


def reason(step: Step, kind: str) -> tuple[str, str] | None:
    found = condition(step.status.conditions, kind)
    return None if found is None else (found.status, found.reason)


def made(step: Step) -> list[int]:
    """The replicas of the pods that are made."""
    labels = (manifest["metadata"]["labels"] for manifest in step.create)
    return [int(each["plimsoll.dev/replica"]) for each in labels]


def gone(step: Step) -> list[int]:
    """The replicas of the pods that are deleted."""
    return [pod.replica for pod in step.delete]


def unready(pod: Manifest) -> None:
    pod["status"]["conditions"] = []


def deleting(pod: Manifest) -> None:
    pod["metadata"]["deletionTimestamp"] = NOW.isoformat()


def over(pod: Manifest) -> None:
    pod["status"] = {"phase": "Failed", "reason": "Evicted"}


def test_every_replica_with_a_place_gets_its_pod() -> None:
    assert made(stepped(service())) == [0, 1, 2]


def test_a_replica_that_is_lost_is_made_again_and_no_other_is_touched() -> None:
    job = service()
    first, _, third = pods(job)
    step = stepped(job, first, third)
    assert made(step) == [1]
    assert not step.delete


def test_replicas_come_one_by_one_as_there_is_room() -> None:
    step = stepped(service(), a_gpu_pod("other", "node", gpus=2))
    assert made(step) == [0, 1]
    assert step.waits


def test_the_pods_of_one_replica_come_together() -> None:
    job = an_inference_job("serve", gpus=4, role={"podsPerReplica": 2})
    job = at(job, "node")
    job["status"]["placement"]["assignments"][0]["nodes"] = ["node", "node"]
    assert made(stepped(job)) == [0, 0]
    half = at(an_inference_job("serve", gpus=4, role={"podsPerReplica": 2}), "node")
    half["status"]["placement"]["assignments"][0]["nodes"] = ["node", "gone"]
    assert made(stepped(half)) == []
    assert not stepped(job, a_gpu_pod("other", "node", gpus=2)).create


def test_a_service_runs_when_all_replicas_are_ready() -> None:
    job = service()
    step = stepped(job, *pods(job))
    assert reason(step, "Running") == ("True", "Running")
    assert status_of(step).ready_summary == "3/3"


def test_a_service_that_loses_a_replica_runs_on_and_is_degraded() -> None:
    job = service()
    there = pods(job)
    ran = {**job, "status": stepped(job, *there).status.wire()}
    unready(there[2])
    step = stepped(ran, *there)
    assert reason(step, "Running") == ("True", "ReplicasMissing")
    assert reason(step, "Degraded") == ("True", "ReplicasMissing")
    unready(there[0])
    unready(there[1])
    assert reason(stepped(ran, *there), "Running") == ("False", "ReplicasMissing")


def test_a_service_that_grows_runs_on_and_is_not_degraded() -> None:
    job = service()
    there = pods(job)
    ran: Manifest = {**job, "status": stepped(job, *there).status.wire()}
    ran["status"].pop("startedTime")
    since = NOW.isoformat()
    grown = {"type": "Admitted", "status": "True", "reason": "Resized", "message": ""}
    ran["status"]["conditions"].append({**grown, "lastTransitionTime": since})
    unready(there[2])
    step = stepped(ran, *there)
    assert (reason(step, "Running"), reason(step, "Degraded")) == (("True", "Resized"), None)
    assert "2 of 3 replicas are ready" in step.status.message


def test_a_pod_that_has_ended_goes_and_its_replica_comes_back() -> None:
    job = service()
    there = pods(job)
    over(there[1])
    step = stepped(job, *there)
    assert gone(step) == [1]
    assert not step.create, "not before it is gone"


def test_a_pod_that_ends_at_once_is_not_made_again_at_once() -> None:
    job = service()
    there = pods(job)
    over(there[1])
    there[1]["metadata"]["creationTimestamp"] = (NOW - timedelta(seconds=4)).isoformat()
    step = stepped(job, *there)
    assert not step.delete
    assert step.again_at == NOW + timedelta(seconds=6)


def test_replicas_that_have_no_place_any_more_go() -> None:
    job = service()
    there = pods(job)
    del job["status"]["placement"]["assignments"][1]
    step = stepped(job, *there)
    assert gone(step) == [1]


def test_a_replica_that_moves_goes_before_it_comes() -> None:
    job = service()
    there = pods(job)
    job["status"]["placement"]["assignments"][1]["revision"] = 2
    step = stepped(job, *there)
    assert (gone(step), made(step)) == ([1], [])
    del there[1]
    assert made(stepped(job, *there)) == [1]


def test_a_new_template_renews_one_replica_at_a_time() -> None:
    job = service()
    there = pods(job)
    assert gone(stepped(renewed(job), *there)) == [0]


@pytest.mark.parametrize("happens", [unready, deleting])
def test_a_new_template_waits_for_the_replica_that_was_renewed_last(
    happens: Callable[[Manifest], None],
) -> None:
    job = renewed(service())
    new = pods(job)
    old = pods(service())
    happens(new[0])
    assert not stepped(job, new[0], old[1], old[2]).delete
    assert gone(stepped(job, *pods(job)[:1], old[1], old[2])) == [1]


def test_a_new_template_waits_while_a_replica_is_missing() -> None:
    old = pods(service())
    step = stepped(renewed(service()), old[1], old[2])
    assert (gone(step), made(step)) == ([], [0])


def test_a_replica_that_is_down_anyway_is_renewed_first() -> None:
    old = pods(service())
    unready(old[2])
    assert gone(stepped(renewed(service()), *old)) == [2]


def test_what_the_scheduler_refuses_for_long_is_planned_anew_and_the_rest_runs_on() -> None:
    job = service()
    there = pods(job)
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}
    there[1]["status"] = {"phase": "Pending", "conditions": [why]}
    del there[1]["spec"]["nodeName"]
    step = stepped(job, *there)
    status = status_of(step)
    assert gone(step) == [1]
    assert status.placement is not None
    assert [each.replica for each in status.placement.assignments] == [0, 2]
    assert [each.node for each in status.avoided_nodes] == ["node"]


def unbound(pod: Manifest, said: str) -> None:
    """Have kube-scheduler say this of a pod, and bind it to no node."""
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    pod["status"] = {"phase": "Pending", "conditions": [why]}
    del pod["spec"]["nodeName"]


def test_a_replica_that_no_node_would_do_for_is_not_tried_on_one_after_the_other() -> None:
    job = service()
    there = pods(job)
    said = '0/1 nodes are available: persistentvolumeclaim "data" not found.'
    unbound(there[1], said)
    status = status_of(stepped(job, *there))
    assert status.placement is not None
    assert [each.replica for each in status.placement.assignments] == [0, 2]
    assert not status.avoided_nodes
    able = next(each for each in status.conditions if each.type == "AbleToScale")
    assert (able.status, able.reason) == ("False", "PodRefused")
    assert 'to no node: persistentvolumeclaim "data" not found' in able.message


def test_a_replica_that_is_refused_is_named_nowhere_any_more() -> None:
    job = service()
    there = pods(job)
    said = "0/1 nodes are available: 1 Insufficient cpu."
    unbound(there[1], said)
    status = status_of(stepped(job, *there))
    assert status.avoided_nodes
    assert status.nodes_summary == "node ×2"
    assert status.accelerators_summary == H100


def test_a_refused_pod_that_is_being_deleted_is_let_go() -> None:
    job = service()
    there = pods(job)
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}
    there[1]["status"] = {"phase": "Pending", "conditions": [why]}
    deleting(there[1])
    assert not status_of(stepped(job, *there)).avoided_nodes


def test_a_pod_that_is_being_deleted_serves_no_more() -> None:
    job = service()
    there = pods(job)
    deleting(there[1])
    assert status_of(stepped(job, *there)).ready_summary == "2/3"


def test_a_refused_pod_of_before_does_not_cost_the_replica_its_new_place() -> None:
    job = service()
    there = pods(job)
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}
    there[1]["status"] = {"phase": "Pending", "conditions": [why]}
    job["status"]["placement"]["assignments"][1]["revision"] = 2
    step = stepped(job, *there)
    status = status_of(step)
    assert gone(step) == [1]
    assert status.placement is not None
    assert len(status.placement.assignments) == 3
    assert not status.avoided_nodes


def test_pods_of_a_role_that_is_no_more_go() -> None:
    job = service()
    there = pods(job)
    renamed = an_inference_job("serve", replicas=3, role={"name": "web"})["spec"]
    step = stepped({**job, "spec": renamed}, *there)
    assert (gone(step), made(step)) == ([0, 1, 2], [])


def test_another_number_of_gpus_rolls_out_like_another_template() -> None:
    job = service(2)
    there = pods(job)
    more = an_inference_job("serve", replicas=2, gpus=2)["spec"]
    assert gone(stepped({**job, "spec": more}, *there)) == [0]


def test_being_preempted_is_remembered() -> None:
    decided = Preempt(NAME, Reason.PREEMPTED, "makes room")
    assert status_of(stepped(service(), decided=decided)).disruption_times == (NOW,)


def test_since_when_all_replicas_are_ready_is_reported_once() -> None:
    job = service()
    there = pods(job)
    assert status_of(stepped(job, there[0])).started_time is None
    ran = {**job, "status": stepped(job, *there).status.wire()}
    assert ran["status"]["startedTime"] == "2026-11-21T12:00:00Z"
    assert not stepped(ran, *there).has_writes


def assignments(*numbers: int) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(RoleName("server"), number, GpuType(H100), (NodeName("node"),))
        for number in numbers
    )


def test_another_count_touches_only_what_is_new() -> None:
    job = service()
    step = stepped(
        job, *pods(job), decided=Resize(NAME, assignments(0, 1, 2, 3), Reason.RESIZED, "4")
    )
    status = status_of(step)
    assert status.placement is not None
    revisions = [each.revision for each in status.placement.assignments]
    assert revisions == [1, 1, 1, 2]
    assert (made(step), gone(step)) == ([3], [])


@pytest.mark.parametrize(
    "decided",
    [Preempt(NAME, Reason.PREEMPTED, "makes room"), Hold(NAME, Reason.QUEUE_LIMIT, "waits")],
)
def test_without_a_place_there_are_no_pods(decided: Action) -> None:
    job = service()
    step = stepped(job, *pods(job), decided=decided)
    assert gone(step) == [0, 1, 2]
    assert status_of(step).placement is None
    assert reason(step, "Admitted") == ("False", decided.reason.value)


def test_a_suspended_service_gives_up_its_place() -> None:
    job = service()
    there = pods(job)
    job["spec"]["suspend"] = True
    step = stepped(job, *there)
    assert gone(step) == [0, 1, 2]
    assert status_of(step).placement is None
    assert not stepped({**job, "status": step.status.wire()}).has_writes, "it is reported once"


@pytest.mark.parametrize(("status", "said"), [("False", "is refused"), ("Unknown", "needs 2 GPUs")])
def test_what_a_service_lacks_now_is_said_rather_than_an_old_refusal(
    status: str, said: str
) -> None:
    refusal = {
        "type": "AbleToScale",
        "status": status,
        "reason": "PodRefused",
        "message": "exceeded quota",
        "lastTransitionTime": NOW.isoformat(),
        "observedGeneration": 1,
    }
    job = service(1)
    (role,) = job["spec"]["roles"]
    role["replicas"] = {"min": 2, "max": 2}
    job["status"] |= {
        "conditions": [refusal],
        "roles": [{"name": role["name"], "wanted": 2, "ready": 1}],
    }
    snapshot = seen(fake_node("node", gpus=4), job)
    (view,) = snapshot.jobs
    assert view.inference is not None
    turn = Turn(snapshot, Occupancy(snapshot), short={NAME: "needs 2 GPUs"})
    step = inference_step(view, view.inference, turn)
    assert f"; one more {said}" in step.status.message
