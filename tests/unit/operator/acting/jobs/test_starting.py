"""Pods that never start give their place back, and are asked for again later and later."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.acting.conditions.unready_pods import unready_among
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.api.parts.conditions import condition
from plimsoll.planning.disruption.backoff import ABLE_TO_SCALE, refusal_pause
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, an_admission, at, pods_of, seen
from support.objects.job_manifests import (
    a_policy,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)

NODES = fake_node("node", gpus=4), fake_node("other", gpus=4)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
BACK_OFF = {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}
CREATING = {"reason": "ContainerCreating"}
WILL_BE = "tried again at 12:01:00 UTC, or when the spec changes"


def a_turn(*manifests: Manifest, after: timedelta = timedelta()) -> Turn:
    snapshot = seen(*NODES, *manifests, now=NOW + after)
    return Turn(snapshot, Occupancy(snapshot))


def stepped(*manifests: Manifest, after: timedelta = timedelta()) -> Step:
    (step,) = Steps().of(a_turn(*manifests, after=after), set())
    return step


def rests(*manifests: Manifest) -> bool:
    return not list(Steps().of(a_turn(*manifests), set()))


def keeps_place(*manifests: Manifest) -> bool:
    return all(step.status.placement for step in Steps().of(a_turn(*manifests), set()))


def made(pod: Manifest, ago: timedelta, **status: Any) -> Manifest:  # noqa: ANN401 - of a pod
    """The pod, made so long ago, with another status."""
    meta = {**pod["metadata"], "creationTimestamp": (NOW - ago).isoformat()}
    return {**pod, "metadata": meta, "status": {"phase": "Pending", **status}}


def waiting(pod: Manifest, ago: timedelta, why: Manifest) -> Manifest:
    """The pod, made so long ago, with a container that waits for this reason."""
    return made(pod, ago, containerStatuses=[{"name": "main", "state": {"waiting": why}}])


def unbound(pod: Manifest, ago: timedelta, **spec: Any) -> Manifest:  # noqa: ANN401 - of a pod
    return {**made(pod, ago), "spec": {"containers": [{"name": "main"}], **spec}}


def a_gang(**fields: Any) -> tuple[Manifest, Manifest, Manifest]:  # noqa: ANN401 - of a job
    """A gang of two, the first of which runs."""
    conditions = [
        {
            "type": "Admitted",
            "status": "True",
            "reason": "Admitted",
            "lastTransitionTime": NOW.isoformat(),
        }
    ]
    job = at(a_training_job("train", workers=2, **fields), "node", "node", conditions=conditions)
    first, second = pods_of(job)
    return job, first, second


def test_a_gang_of_which_a_worker_cannot_start_gives_its_place_back() -> None:
    job, first, second = a_gang()
    step = stepped(job, first, waiting(second, 5 * MINUTE, BACK_OFF))
    why = "train-worker-1 on node cannot start container main after 5m: "
    assert step.status.message == f"{why}ImagePullBackOff: Back-off pulling image; {WILL_BE}"
    assert (step.status.reason, step.status.placement) == ("PodsReadyTimeout", None)
    assert [pod.name for pod in step.delete] == ["train-worker-0", "train-worker-1"]
    [event] = step.events
    assert (event.reason, event.warning) == (Reason.PODS_READY_TIMEOUT, True)


@pytest.mark.parametrize(
    ("why", "minutes", "waits"),
    [
        pytest.param(BACK_OFF, 4, True, id="an error that may go away"),
        pytest.param(CREATING, 29, True, id="a large image that is pulled"),
        pytest.param(CREATING, 30, False, id="a volume that is never mounted"),
        pytest.param({"reason": "CrashLoopBackOff"}, 29, True, id="one that ends and comes back"),
    ],
)
def test_a_worker_that_may_start_yet_is_waited_for(
    why: Manifest, minutes: int, *, waits: bool
) -> None:
    job, first, second = a_gang()
    assert keeps_place(job, first, waiting(second, minutes * MINUTE, why)) == waits


def test_what_the_kubelet_cannot_start_is_said_once_whatever_it_calls_it() -> None:
    job, first, second = a_gang()
    step = stepped(job, first, waiting(second, MINUTE, BACK_OFF))
    assert step.status.reason == "CannotStart"
    assert step.status.message == (
        "train-worker-1 on node cannot pull the image of container main: Back-off pulling image;"
        " the job loses its place at 12:04:00 UTC"
    )
    [event] = step.events
    assert (event.reason, event.warning) == (Reason.CANNOT_START, True)
    job["status"] = step.status.wire()
    assert rests(job, first, waiting(second, MINUTE, {"reason": "ErrImagePull"}))
    config = {"reason": "CreateContainerConfigError", "message": 'configmap "c" not found'}
    other = stepped(job, first, waiting(second, MINUTE, config)).status.message
    assert other.startswith(
        'train-worker-1 on node cannot start container main: configmap "c" not found;'
    )


def test_it_is_said_once_also_where_something_else_comes_first() -> None:
    queue, classes = a_queue("team", priorityClassNames=["batch"]), ("batch", "urgent")
    beside = [queue, *(a_priority_class(name, 10) for name in classes)]
    job, first, second = a_gang(queue="team", priorityClassName="urgent")
    job["status"]["admission"] = an_admission("team", "batch", 10)
    stuck, steps = waiting(second, MINUTE, BACK_OFF), Steps()
    (step,) = steps.of(a_turn(*beside, job, first, stuck), set())
    assert step.status.reason == Reason.PRIORITY_NOT_ALLOWED
    assert [event.reason for event in step.events if event.reason == Reason.CANNOT_START]
    job["status"] = step.status.wire()
    for after in range(5, 60, 5):
        turn = a_turn(*beside, job, first, stuck, after=after * SECOND)
        assert not list(steps.of(turn, set()))


def test_a_job_whose_pods_go_on_trying_for_ever_is_told_no_end() -> None:
    job, first, second = a_gang()
    policy = a_policy(waitForPodsReady={"timeout": "0s", "errorTimeout": "0s"})
    step = stepped(policy, job, first, waiting(second, MINUTE, BACK_OFF))
    assert step.status.message.endswith("container main: Back-off pulling image")


def test_that_a_container_could_not_start_is_over_with_the_place() -> None:
    job, first, second = a_gang()
    job["status"] = stepped(job, first, waiting(second, MINUTE, BACK_OFF)).status.wire()
    step = stepped(job, first, waiting(second, 5 * MINUTE, BACK_OFF))
    running = condition(step.status.conditions, "Running")
    assert running is not None
    assert (running.status, running.reason) == ("False", "PodsReadyTimeout")


def test_what_no_scheduler_knows_of_is_reported_with_the_schedulers_name() -> None:
    job, _, _ = a_gang(template=a_template(schedulerName="nobody"))
    pods = [unbound(pod, 5 * MINUTE, schedulerName="nobody") for pod in pods_of(job)]
    said = stepped(job, *pods).status.message
    assert said.startswith("no scheduler has bound train-worker-0 after 5m: start scheduler")
    assert "nobody" in said
    assert "(2 pods have not started)" in said


def test_what_a_gate_of_the_users_holds_back_is_reported_with_the_gate() -> None:
    job, _, _ = a_gang()
    gates = [{"name": "example.com/licence"}]
    pods = [unbound(pod, 5 * MINUTE, schedulingGates=gates) for pod in pods_of(job)]
    said = stepped(job, *pods).status.message
    assert said.startswith("train-worker-0 is held back by scheduling gate example.com/licence")


def test_an_error_counts_from_when_the_init_containers_were_done() -> None:
    job, first, second = a_gang()
    for minutes, waits in ((4, True), (5, False)):
        ended = (NOW - minutes * MINUTE).isoformat()
        init = {"terminated": {"exitCode": 0, "finishedAt": ended}}
        pod = waiting(second, 20 * MINUTE, BACK_OFF)
        pod["status"]["initContainerStatuses"] = [{"name": "fetch", "state": init}]
        assert keeps_place(job, first, pod) == waits


def test_a_worker_that_runs_and_is_not_ready_is_let_train() -> None:
    job, first, second = a_gang()
    assert rests(job, first, unready(second))
    told = stepped(job, first, unready(second, 9999 * MINUTE)).status
    assert told.placement


def unready(pod: Manifest, ago: timedelta = timedelta()) -> Manifest:
    """The pod, made so long ago, which runs and is not ready."""
    return made(pod, ago, phase="Running", conditions=[{"type": "Ready", "status": "False"}])


def test_a_worker_that_is_not_ready_after_a_minute_is_said_once() -> None:
    job, first, second = a_gang()
    steps = Steps()
    assert not list(steps.of(a_turn(job, first, unready(second)), set()))
    late = a_turn(job, first, unready(second), after=MINUTE)
    (step,) = steps.of(late, set())
    assert step.status.message == (
        "train-worker-1 on node runs, but is not ready: if that lasts, check its logs and its"
        " readiness probe"
    )
    said = condition(step.status.conditions, "Running")
    assert said is not None
    assert (said.status, said.reason) == ("False", Reason.STARTING)
    assert not step.events
    job["status"] = step.status.wire()
    assert rests(job, first, unready(second, MINUTE))
    (step,) = Steps().of(a_turn(job, unready(first, MINUTE), second), set())
    assert step.status.message.startswith("train-worker-0 on node runs")
    pending = made(first, MINUTE)
    (step,) = Steps().of(a_turn(job, pending, second), set())
    assert step.status.message == "its other pods are to run"
    assert stepped(job, first, second).status.reason == Reason.RUNNING


def test_time_alone_lets_it_be_said_that_a_worker_is_not_ready() -> None:
    job, first, second = a_gang()
    pod, steps = unready(second), Steps()
    turn = a_turn(job, first, pod)
    assert not list(steps.of(turn, set()))
    later = replace(turn.snapshot, now=NOW + MINUTE)
    (step,) = steps.of(replace(turn, snapshot=later), set())
    assert step.status.reason == Reason.STARTING


def test_of_several_that_are_not_ready_the_first_is_named() -> None:
    job, first, second = a_gang()
    step = stepped(job, unready(second, MINUTE), unready(first, MINUTE))
    assert "train-worker-0 on node runs, but is not ready, nor is 1 more: if" in step.status.message


def test_that_a_container_cannot_start_is_said_instead() -> None:
    job, first, second = a_gang()
    stuck = waiting(second, MINUTE, BACK_OFF)
    step = stepped(job, unready(first, MINUTE), stuck)
    assert step.status.reason == Reason.CANNOT_START
    job["status"] = step.status.wire()
    assert rests(job, unready(first, MINUTE), stuck)


def test_a_worker_that_is_being_deleted_need_not_be_ready() -> None:
    job, first, second = a_gang()
    assert unready_among(seen(*NODES, job, first, unready(second)).jobs[0].pods)
    second["metadata"]["deletionTimestamp"] = NOW.isoformat()
    assert not unready_among(seen(*NODES, job, first, unready(second)).jobs[0].pods)


def test_a_gang_that_has_run_before_is_no_matter_of_this() -> None:
    job, first, second = a_gang()
    job["status"]["startedTime"] = (NOW - MINUTE).isoformat()
    assert rests(job, first, waiting(second, 60 * MINUTE, BACK_OFF))


def test_where_others_start_the_node_is_left_alone_for_a_while() -> None:
    job, first, second = a_gang()
    second["spec"]["nodeName"] = "other"
    for pod in (first, second):
        pod["metadata"]["labels"]["plimsoll.dev/template-hash"] = "same"
    step = stepped(job, first, waiting(second, 5 * MINUTE, BACK_OFF))
    assert [each.node for each in step.status.avoided_nodes] == ["other"]
    neither = stepped(job, *(waiting(pod, 5 * MINUTE, BACK_OFF) for pod in (first, second)))
    assert neither.status.avoided_nodes == ()


def test_the_administrator_says_how_long_pods_may_take() -> None:
    job, first, second = a_gang()
    pods = [waiting(pod, 5 * MINUTE, BACK_OFF) for pod in (first, second)]
    patient = a_policy(waitForPodsReady={"errorTimeout": "0s"})
    assert keeps_place(patient, job, *pods), "as long as others"
    pods = [waiting(pod, 24 * 60 * MINUTE, BACK_OFF) for pod in (first, second)]
    endless = a_policy(waitForPodsReady={"timeout": "0s", "errorTimeout": "0s"})
    assert keeps_place(endless, job, *pods)


def test_each_time_in_a_row_the_pause_is_twice_as_long_up_to_the_limit() -> None:
    job, first, second = a_gang()
    strategy = {"backoffBase": "10m", "backoffMax": "1h", "backoffLimitCount": 5}
    policy = a_policy(waitForPodsReady={"requeuingStrategy": strategy})
    (seen_policy,) = [p for p in [seen(policy).policy] if p is not None]
    place, pauses = job["status"], list[timedelta | None]()
    late = [waiting(pod, 5 * MINUTE, BACK_OFF) for pod in (first, second)]
    for times in range(4):
        job["status"] = {**place, "refusals": times, "observedGeneration": 1}
        step = stepped(policy, job, *late)
        pauses.append(refusal_pause(step.status, step.status.reason, seen_policy))
    assert pauses == [10 * MINUTE, 20 * MINUTE, 40 * MINUTE, 60 * MINUTE]
    job["status"] = {**place, "refusals": 4, "observedGeneration": 1}
    step = stepped(policy, job, *late)
    assert refusal_pause(step.status, step.status.reason, seen_policy) is None
    assert step.status.message.endswith("; not tried again until the spec changes")
    job["metadata"]["generation"] = 2
    step = stepped(policy, job, *late)
    assert step.status.refusals == 1, "another spec is tried for the first time"


def test_the_pauses_of_another_spec_are_forgotten_once_it_is_seen() -> None:
    job, _, _ = a_gang()
    job["status"] |= {"refusals": 3, "observedGeneration": 1}
    job["metadata"]["generation"] = 2
    assert stepped(job).status.refusals == 0


def test_a_job_that_waits_for_its_pods_to_start_costs_a_turn_nothing() -> None:
    job, first, second = a_gang()
    pod, steps = waiting(second, MINUTE, BACK_OFF), Steps()
    job["status"] = stepped(job, first, pod).status.wire()
    turn = a_turn(job, first, pod)
    assert not list(steps.of(turn, set()))
    assert not list(steps.of(turn, set()))
    later = Turn(seen(*NODES, job, first, pod, now=NOW + 4 * MINUTE), turn.occupancy)
    assert [step.status.reason for step in steps.of(later, set())] == ["PodsReadyTimeout"]


def a_service(*states: Manifest | None) -> tuple[Manifest, list[Manifest]]:
    """A service with a replica for each of these, made six minutes ago; None: it is ready."""
    job = at(an_inference_job("serve", replicas=len(states)), *["node"] * len(states))
    job["status"] = stepped(job).status.wire()
    pods = [
        pod if why is None else waiting(pod, 6 * MINUTE, why)
        for pod, why in zip(pods_of(job), states, strict=True)
    ]
    return job, pods


def places(step: Step) -> list[int]:
    assert isinstance(step.status, InferenceJobStatus)
    found = step.status.placement.assignments if step.status.placement else ()
    return [place.replica for place in found]


def test_replicas_that_are_ready_stay_when_another_never_is() -> None:
    job, pods = a_service(None, BACK_OFF, None)
    step = stepped(job, *pods)
    assert places(step) == [0, 2]
    able = condition(step.status.conditions, ABLE_TO_SCALE)
    assert able is not None
    assert (able.status, able.reason) == ("False", "PodsReadyTimeout")
    job["status"] = step.status.wire()
    after = stepped(job, *pods, after=SECOND)
    assert [pod.name for pod in after.delete] == ["serve-server-1"]
    text = "2 of 3 replicas are ready; one more never became ready: serve-server-1 on node"
    assert text in after.status.message


def test_a_service_says_which_of_its_replicas_cannot_start() -> None:
    job, (ready, stuck) = a_service(None, None)
    step = stepped(job, ready, waiting(stuck, MINUTE, BACK_OFF))
    assert step.status.message == (
        "1 of 2 replicas are ready; serve-server-1 on node cannot pull the image of container main"
        " (kubectl describe pod serve-server-1 says why)"
    )
    assert places(step) == [0, 1]


def test_a_service_of_which_nothing_is_ever_ready_gives_its_place_back() -> None:
    job, pods = a_service(BACK_OFF, BACK_OFF)
    step = stepped(job, *pods)
    assert (places(step), step.status.reason) == ([], "PodsReadyTimeout")
    assert step.status.message.endswith(WILL_BE)
    assert len(step.delete) == 2


def test_a_replica_that_runs_and_is_never_ready_gives_its_place_back() -> None:
    job, pods = a_service(None, None)
    began = (NOW - 30 * MINUTE).isoformat()
    unready = [
        {"type": kind, "status": "False", "lastTransitionTime": began}
        for kind in ("Ready", "ContainersReady")
    ]
    running = {"phase": "Running", "startTime": began, "conditions": unready}
    pods[1] = made(pods[1], 30 * MINUTE, **running)
    step = stepped(job, *pods)
    assert places(step) == [0]
    assert "serve-server-1 on node is not ready after 30m: check its logs" in step.status.message


def test_a_replica_that_was_ready_once_is_no_matter_of_this() -> None:
    job, pods = a_service(None, None)
    began, since = (NOW - 60 * MINUTE).isoformat(), (NOW - 40 * MINUTE).isoformat()
    unready = [
        {"type": kind, "status": "False", "lastTransitionTime": since}
        for kind in ("Ready", "ContainersReady")
    ]
    pods[1] = made(pods[1], 60 * MINUTE, phase="Running", startTime=began, conditions=unready)
    assert places(stepped(job, *pods)) == [0, 1]


def test_a_trial_that_fails_again_waits_twice_as_long() -> None:
    job, pods = a_service(None, BACK_OFF)
    first = stepped(job, *pods)
    again = {**first.status.wire(), "placement": job["status"]["placement"]}
    job["status"] = again
    opened = stepped(job, pods[0], after=2 * MINUTE)
    job["status"] = opened.status.wire()
    able = condition(opened.status.conditions, ABLE_TO_SCALE)
    assert able is not None
    assert able.status == "Unknown"
    second = stepped(job, *pods, after=2 * MINUTE)
    assert (first.status.refusals, second.status.refusals) == (1, 2)
    assert refusal_pause(second.status, Reason.PODS_READY_TIMEOUT, None) == 2 * MINUTE
