"""What is said of one job follows from its status, what was said of it, and its pods."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.job_queue import JobQueue
from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.jobs.asking import about, named
from plimsoll.cli.jobs.card import card
from plimsoll.cli.jobs.card_lines import card_document
from plimsoll.cli.jobs.happenings import happenings
from plimsoll.cli.jobs.life import Moment, life
from plimsoll.cli.jobs.objects import JobObjects
from plimsoll.cli.jobs.pods import pods_by_job
from plimsoll.cli.jobs.stored import StoredJob, StoredTrainingJob
from plimsoll.cli.jobs.suspension import resumption, suspension
from plimsoll.cli.jobs.tree import QueueBranch, tree
from plimsoll.cli.output.document import Layout, as_text
from plimsoll.errors import BadInput, NothingFound
from plimsoll.kube.objects.event import Event, EventSeries, ObjectReference
from plimsoll.kube.objects.objects import ObjectMeta, OwnerReference, Pod, PodCondition, PodStatus
from plimsoll.observe.labels import JOB_UID
from plimsoll_devcluster.gpu_models import A100, H100
from support.objects.job_manifests import (
    a_pool,
    a_queue,
    a_training_job,
    an_inference_job,
    without_speeds,
)

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def text_at(minutes: float) -> str:
    return at(minutes).isoformat()


def stored(manifest: Mapping[str, Any], **status: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    meta = {"namespace": "team", "uid": "u", "creationTimestamp": text_at(0)}
    return {**manifest, "metadata": {**manifest["metadata"], **meta}, "status": status}


def training(manifest: Mapping[str, Any] | None = None, **status: Any) -> TrainingJob:  # noqa: ANN401
    return TrainingJob.model_validate(stored(manifest or a_training_job("train"), **status))


def service(manifest: Mapping[str, Any], **status: Any) -> InferenceJob:  # noqa: ANN401 - same
    return InferenceJob.model_validate(stored(manifest, **status))


def said(reason: str, minutes: float, message: str = "", **more: Any) -> Event:  # noqa: ANN401 - same
    about = ObjectReference(kind="TrainingJob", name="train", uid="u")
    fields: dict[str, Any] = {
        "involved_object": about,
        "first_timestamp": at(minutes),
        "last_timestamp": at(minutes),
        "reporting_controller": "plimsoll",
        **more,
    }
    return Event(reason=reason, message=message, **fields)


def lived(job: TrainingJob | InferenceJob, *events: Event) -> list[Moment]:
    return [*life(job, happenings(job, (), events))]


def test_events_tell_the_life_of_a_job_and_losses_are_charged_to_what_caused_them() -> None:
    job = training(
        lostWork=[{"time": text_at(30), "gpuSeconds": 7200}],
        disruptionTimes=[text_at(30)],
        admittedTime=text_at(40),
        startedTime=text_at(41),
        progress={"done": 10, "savedDone": 8, "lastCheckpoint": text_at(45)},
    )
    moments = lived(
        job,
        said("InsufficientGPUs", 0.5, "needs 1"),
        said("Admitted", 1),
        said("Preempted", 30.05, "by urgent"),
        said("Admitted", 40),
    )
    assert [each.what for each in moments] == [
        *("created", "waited", "admitted", "preempted", "admitted", "started", "saved")
    ]
    assert [each.gpu_hours_lost for each in moments] == [None, None, None, 2.0, None, None, None]
    assert moments[-1].message == "8 steps"


def test_what_events_no_longer_tell_the_status_does() -> None:
    job = training(
        disruptionTimes=[text_at(30)],
        lostWork=[{"time": text_at(30), "gpuSeconds": 3600}],
        restarts=1,
        restartTimes=[text_at(50)],
        failures=[{"node": "a", "time": text_at(50), "message": "failed with exit code 1"}],
        finishedTime=text_at(60),
        conditions=[
            {
                "type": "Complete",
                "status": "True",
                "reason": "Completed",
                "message": "all 1 workers succeeded",
                "lastTransitionTime": text_at(60),
            }
        ],
    )
    assert [(each.what, each.message, each.gpu_hours_lost) for each in lived(job)[1:]] == [
        ("disrupted", "the plan resized, moved or preempted it", 1.0),
        ("restarted", "a worker on a failed with exit code 1", None),
        ("finished", "all 1 workers succeeded", None),
    ]


@given(st.lists(st.integers(0, 300), max_size=8), st.lists(st.integers(0, 300), max_size=8))
def test_no_loss_is_charged_twice_nor_forgotten(losses: list[int], events: list[int]) -> None:
    job = training(
        disruptionTimes=[text_at(each) for each in losses],
        lostWork=[{"time": text_at(each), "gpuSeconds": 3600} for each in losses],
    )
    moments = lived(job, *(said("Preempted", each) for each in events))
    assert sum(each.gpu_hours_lost or 0 for each in moments) == len(losses)
    assert moments == sorted(moments, key=lambda each: each.at)


def test_a_pod_and_a_workload_repeat_nothing_that_was_said_of_the_job() -> None:
    pod = ObjectReference(kind="Pod", name="train-worker-0", uid="gone")
    events = [
        said("Preempted", 1, "by urgent"),
        said("Preempted", 1, "by urgent", involved_object=pod),
        said("Failed", 2, "image not found", involved_object=pod, reporting_controller="kubelet"),
        said("Failed", 2, involved_object=ObjectReference(kind="Pod", name="train-worker-0-x")),
        said("Failed", 2, involved_object=ObjectReference(kind="Pod", name="train-other-0")),
        said("Killing", -9, involved_object=pod, reporting_controller="kubelet"),
    ]
    found = happenings(training(), (), events)
    assert [(each.about, each.reason) for each in found] == [
        ("TrainingJob/train", "Preempted"),
        ("Pod/train-worker-0", "Failed"),
    ]


def test_what_was_said_within_a_second_is_told_as_it_was_written() -> None:
    reasons = {"Admitted": "9", "Restarting": "10", "Preempted": "1000"}
    events = [
        said(reason, 1, metadata=ObjectMeta(resource_version=version))
        for reason, version in reasons.items()
    ]
    for order in permutations(events):
        assert [each.reason for each in happenings(training(), (), order)] == [*reasons]
        found = [each.what for each in lived(training(startedTime=text_at(1)), *order)]
        assert found == ["created", "admitted", "restarted", "preempted", "started"]


def test_events_of_either_api_have_a_time_and_a_count() -> None:
    series = EventSeries(count=7, last_observed_time=at(9))
    events = [
        said("Old", 5, count=3, first_timestamp=at(2)),
        said("New", 0, first_timestamp=None, last_timestamp=None, event_time=at(1), series=series),
    ]
    found = {each.reason: each for each in happenings(training(), (), events)}
    assert (found["Old"].first, found["Old"].at, found["Old"].times) == (at(2), at(5), 3)
    assert (found["New"].first, found["New"].at, found["New"].times) == (at(1), at(9), 7)


def test_speeds_say_what_they_rest_on() -> None:
    assumed = training(
        without_speeds(a_training_job("train")),
        speeds=[
            {"type": H100, "percent": 100, "basis": "Measured"},
            {"type": A100, "percent": 40, "basis": "Assumed"},
        ],
        measured=[{"type": H100, "workers": 2, "rate": "1.5", "seconds": 60}],
    )
    text = as_text(card_document(card(JobObjects(assumed))), Layout())
    assert (
        f"{H100} 100 % of the fastest, 1.5 steps a second on 2 workers, measured;"
        f" {A100} 40 % of the fastest, assumed" in text
    )
    stated = training(a_training_job("train", rates={H100: 3}))
    text = as_text(card_document(card(JobObjects(stated))), Layout())
    assert f"{H100} 3 steps a second on 1 worker, stated" in text


def test_a_service_shows_its_load_its_level_and_how_long_a_replica_takes() -> None:
    job = service(
        an_inference_job("chat", replicas=0),
        reason="Running",
        roles=[{"name": "server", "wanted": 3, "ready": 2, "draining": 1}],
        load={"observed": "12.5", "forecast": 14},
        sloAttainmentPercent="99.2",
        costPerHour="6",
    )
    ready = PodStatus(conditions=(PodCondition("Ready", "True", last_transition_time=at(1.5)),))
    pod = Pod(ObjectMeta(name="chat-server-0", creation_timestamp=at(0)), status=ready)
    found = card(JobObjects(job, (pod,)))
    assert found.serving is not None
    assert (found.serving.start_seconds, found.serving.scales_to_zero) == (90, True)
    text = as_text(card_document(found), Layout())
    for part in (
        "2 of 3 replicas ready, 1 draining",
        "12.5, 14 forecast",
        "99.2 % of requests within it, 99 % promised",
        "a replica took 90 s until it was ready",
        "$6.00 an hour",
    ):
        assert part in text


def test_a_job_that_is_over_ran_somewhere_and_costs_nothing_more() -> None:
    place = {"role": "worker", "replica": 0, "nodes": ["n"], "pool": "p", "revision": 1}
    placement = {
        "acceleratorType": H100,
        "pool": "p",
        "workers": 1,
        "revision": 1,
        "assignments": [{**place, "acceleratorType": H100}],
    }
    pool = GPUPool.model_validate(a_pool("p", {"pool": "p"}, pricePerGPUHour="2"))
    over = {"type": "Complete", "status": "True", "reason": "Completed", "message": ""}
    over |= {"lastTransitionTime": at(1).isoformat()}
    for conditions, runs, costs in (((), "runs on", True), ((over,), "ran on", False)):
        job = training(placement=placement, conditions=conditions)
        text = as_text(card_document(card(JobObjects(job, pools=(pool,)))), Layout())
        assert f"{runs} " in text
        assert ("an hour" in text) is costs


def test_what_others_wrote_moves_no_terminal() -> None:
    job = training(reason="PodRefused", message="a\x1b[2Jb\u202ec\nd")
    text = as_text(card_document(card(JobObjects(job))), Layout())
    assert "a?[2Jb?c d" in text
    assert not {"\x1b", "\u202e"} & {*text}


@given(st.dictionaries(st.sampled_from("abcde"), st.sampled_from("abcdefg")))
def test_every_job_is_in_the_tree_once_whatever_parents_queues_name(
    parents: dict[str, str],
) -> None:
    jobs = [training(a_training_job(f"in-{name}", queue=name)) for name in "abcde"]
    queues = [
        JobQueue.model_validate(a_queue(name, parent=parent))
        for name, parent in parents.items()
        if name != parent
    ]
    found = [job for top in tree(jobs, {}, queues).queues for job in _jobs(top)]
    assert sorted(found) == [f"TrainingJob/team/in-{name}" for name in "abcde"]


def _jobs(branch: QueueBranch) -> list[str]:
    below = [job for each in branch.queues for job in _jobs(each)]
    return [*below, *(each.job for each in branch.jobs)]


def a_stand_in(kind: str = "Job", api_version: str = "batch/v1", **status: Any) -> TrainingJob:  # noqa: ANN401
    ref = {
        "apiVersion": api_version,
        "kind": kind,
        "name": "resnet",
        "uid": "w",
        "gpuResource": "nvidia.com/gpu",
    }
    return training(a_training_job("job-resnet", workloadRef=ref), **status)


def owned(name: str, uid: str, *, label: str = "", namespace: str = "team") -> Pod:
    owner = OwnerReference("batch/v1", "Job", "x", uid, controller=True)
    labels = {JOB_UID: label} if label else {}
    return Pod(ObjectMeta(name=name, namespace=namespace, labels=labels, owner_references=(owner,)))


def test_pods_are_found_by_their_chain_of_controllers_and_only_in_the_namespace() -> None:
    pods = [
        owned("direct", "w"),
        owned("made", "child"),
        owned("circling", "round"),
        owned("elsewhere", "w", namespace="other"),
        owned("of-another", "z"),
    ]
    makers = {"child": "w", "round": "about", "about": "round"}
    found = pods_by_job([a_stand_in()], pods, makers)
    assert [pod.metadata.name for pod in found["u"]] == ["direct", "made"]


@pytest.mark.parametrize(
    ("kind", "api_version", "made"),
    [
        ("Job", "batch/v1", []),
        ("JobSet", "jobset.x-k8s.io/v1alpha2", ["jobs"]),
        ("TrainJob", "trainer.kubeflow.org/v1alpha1", ["jobs", "jobsets"]),
        ("RayJob", "ray.io/v1", ["rayclusters"]),
    ],
)
def test_only_what_a_workload_may_make_is_listed(
    kind: str, api_version: str, made: list[str]
) -> None:
    wanted = [each.resource.plural for each in about(a_stand_in(kind, api_version))]
    assert wanted == ["trainingjobs", "pods", *made]


def test_pods_that_nobody_would_make_again_are_not_suspended_once_they_run() -> None:
    group = ("PodGroup", "scheduling.k8s.io/v1alpha2")
    with pytest.raises(BadInput, match=r"PodGroup/resnet runs, .* delete its pods to stop it"):
        suspension(a_stand_in(*group, startedTime=text_at(1)))
    assert suspension(a_stand_in(*group)).suspend is True
    assert suspension(a_stand_in(startedTime=text_at(1))).suspend is True


def test_a_job_that_is_over_is_neither_suspended_nor_resumed() -> None:
    over = training(finishedTime=text_at(1), reason="Completed")
    for change in (suspension, resumption):
        with pytest.raises(BadInput, match=r"is over \(Completed\): create it anew"):
            change(over)


def a_stored(name: str, **spec: Any) -> StoredJob:  # noqa: ANN401 - any field
    return StoredTrainingJob(ObjectMeta(name=name, namespace="team"), spec=spec)


def test_a_job_goes_before_a_workload_of_the_same_name() -> None:
    there = [a_stored("job-resnet", workloadRef={"kind": "Job", "name": "resnet"})]
    assert named("resnet", "team", there) is there[0]
    assert named("job/resnet", "team", there) is there[0]
    with pytest.raises(BadInput, match="is not a kind of job"):
        named("jobset/resnet", "team", there)
    own = a_stored("resnet")
    assert named("resnet", "team", [*there, own]) is own
    with pytest.raises(NothingFound, match="did you mean job-resnet"):
        named("job-resmet", "team", there)


def test_a_workload_is_found_in_the_namespace_that_is_asked_about() -> None:
    ref = {"kind": "Job", "name": "resnet"}
    mine, other = (
        StoredTrainingJob(ObjectMeta(name="job-resnet", namespace=space), spec={"workloadRef": ref})
        for space in ("team", "other")
    )
    assert named("resnet", "team", [mine, other]) is mine
    assert named("Job/other/resnet", "team", [mine, other]) is other
    with pytest.raises(BadInput, match="is the name of several jobs: use one of TrainingJob/team"):
        named("job/resnet", None, [mine, other])
