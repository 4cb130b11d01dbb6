from dataclasses import replace
from typing import Any

import pytest

from plimsoll.observe.observer import Observer
from plimsoll.observe.snapshot import JobView, PodView, Snapshot
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, objects_of, pods_of, seen, with_pods
from support.objects.job_manifests import (
    a_gpu_pod,
    a_policy,
    a_pool,
    a_priority_class,
    a_queue,
    a_training_job,
    an_inference_job,
)

JOB = at(a_training_job("job"), "n-0")


def the_job(*manifests: Manifest) -> JobView:
    [job] = seen(*manifests).jobs
    return job


def the_pod(**fields: Any) -> PodView:  # noqa: ANN401 - parts of a pod's manifest
    pod = pods_of(JOB)[0]
    [view] = the_job(JOB, {**pod, **fields}).pods
    return view


def names(snapshot: Snapshot) -> list[str]:
    return [job.name for job in snapshot.jobs]


def test_a_snapshot_does_not_depend_on_the_order_of_news() -> None:
    manifests = [
        fake_node("b"),
        fake_node("a"),
        a_training_job("z"),
        an_inference_job("y"),
        a_training_job("x"),
        a_queue("q"),
        a_queue("p"),
    ]
    snapshot = seen(*manifests)
    assert [node.name for node in snapshot.nodes] == ["a", "b"]
    assert names(snapshot) == ["InferenceJob/team/y", "TrainingJob/team/x", "TrainingJob/team/z"]
    assert [queue.metadata.name for queue in snapshot.queues] == ["p", "q"]


def test_pods_are_found_by_their_jobs_uid_not_its_name() -> None:
    mine, former = pods_of(JOB)[0], pods_of(JOB)[0]
    former["metadata"] = {
        **former["metadata"],
        "name": "former",
        "labels": {**former["metadata"]["labels"], "plimsoll.dev/job-uid": "of-a-former-job"},
    }
    assert [pod.name for pod in the_job(JOB, mine, former).pods] == ["job-worker-0"]


def test_a_pod_of_another_namespace_is_no_jobs_whatever_its_labels_say() -> None:
    mine, forged = pods_of(JOB)[0], pods_of(JOB)[0]
    forged["metadata"] |= {"name": "forged", "namespace": "hostile"}
    forged["status"]["phase"] = "Failed"
    assert [pod.name for pod in the_job(JOB, mine, forged).pods] == ["job-worker-0"]


def test_pods_come_by_role_replica_and_rank() -> None:
    gang = at(a_training_job("gang", workers=11), *["n-0"] * 11)
    assert [pod.replica for pod in the_job(gang, *reversed(pods_of(gang))).pods] == list(range(11))


def test_a_pods_labels_say_which_part_of_the_job_it_is() -> None:
    pod = the_pod()
    assert (pod.role, pod.replica, pod.rank, pod.revision) == ("worker", 0, 0, 1)
    assert (pod.node, pod.phase, pod.ready, pod.deleting) == ("n-0", "Running", True, False)


def test_labels_that_are_no_numbers_are_of_no_part() -> None:
    pod = pods_of(JOB)[0]
    pod["metadata"]["labels"]["plimsoll.dev/replica"] = "-1"
    assert the_job(JOB, pod).pods[0].replica == -1


def ended(exit_code: int, reason: str = "") -> Manifest:
    state = {"terminated": {"exitCode": exit_code, "reason": reason}}
    return {"name": "main", "state": state}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"containerStatuses": [ended(0), ended(3, "Error")]}, (3, "Error")),
        ({"initContainerStatuses": [ended(2)], "containerStatuses": [ended(1)]}, (2, "")),
        ({"reason": "Evicted", "message": "out of disk"}, (-1, "Evicted")),
        ({"containerStatuses": [ended(0)]}, (-1, "")),
    ],
)
def test_the_first_container_that_failed_says_how_a_pod_ended(
    status: Manifest, expected: tuple[int, str]
) -> None:
    end = the_pod(status={"phase": "Failed", **status}).end
    assert end is not None
    assert (end.exit_code, end.reason) == expected


def test_a_pod_that_succeeded_has_no_end_to_report() -> None:
    pod = the_pod(status={"phase": "Succeeded", "containerStatuses": [ended(0)]})
    assert (pod.end, pod.is_over) == (None, True)


@pytest.mark.parametrize(
    ("status", "disrupted"),
    [
        ({"conditions": [{"type": "DisruptionTarget", "status": "True"}]}, True),
        ({"conditions": [{"type": "DisruptionTarget", "status": "False"}]}, False),
        ({"reason": "NodeLost"}, True),
        ({"reason": "DeadlineExceeded"}, False),
        ({}, False),
    ],
)
def test_a_pod_may_have_ended_by_no_fault_of_its_own(status: Manifest, *, disrupted: bool) -> None:
    assert the_pod(status={"phase": "Failed", **status}).disrupted is disrupted


def test_what_kube_scheduler_refuses_is_known_with_its_words() -> None:
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}
    assert the_pod(status={"phase": "Pending", "conditions": [said]}).unschedulable == "no"


def test_a_pod_is_sent_where_its_affinity_says() -> None:
    here = {"key": "metadata.name", "operator": "In", "values": ["n-7"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [here]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = the_pod(spec={"containers": [], "affinity": affinity})
    assert (pod.wanted_node, pod.node) == ("n-7", "")


@pytest.mark.parametrize(
    ("classes", "named", "priority"),
    [
        ([], None, 0),
        ([], "missing", None),
        ([a_priority_class("high", 7)], "high", 7),
        ([{**a_priority_class("usual", 3), "globalDefault": True}], None, 3),
        ([], "system-cluster-critical", 2_000_000_000),
    ],
)
def test_a_job_has_the_priority_of_its_class_or_the_clusters_usual_one(
    classes: list[Manifest], named: str | None, priority: int | None
) -> None:
    job = a_training_job("job")
    job["spec"]["priorityClassName"] = named
    assert the_job(*classes, job).priority == priority


def test_only_the_policy_named_default_holds() -> None:
    assert seen(a_policy(mode="Advise")).policy is not None
    assert seen().policy is None


def test_foreign_pods_are_subtracted_and_our_own_are_not() -> None:
    node = fake_node("n-0", H100, 8, cpu="10")
    snapshot = seen(node, *with_pods([JOB]), a_gpu_pod("foreign", "n-0", gpus=3, cpu="4"))
    assert snapshot.nodes[0].unmanaged_units == {"nvidia.com/gpu": 3}
    assert (snapshot.nodes[0].cpu_millis, snapshot.nodes[0].pod_slots) == (6000, 109)


def test_a_pod_that_is_not_bound_takes_nothing_of_any_node() -> None:
    waiting = a_gpu_pod("foreign", "", gpus=3)
    assert seen(fake_node("n-0"), waiting).nodes[0].unmanaged_units == {}


SCENE = [
    fake_node("n-0", H100, 8, cpu="10"),
    fake_node("n-1"),
    *with_pods([JOB]),
    a_priority_class("high", 7),
    a_training_job("other", priorityClassName="high"),
    a_gpu_pod("foreign", "n-0", gpus=3, cpu="4"),
    a_pool("pool", {"type": "kwok"}),
]


@pytest.mark.parametrize("left_out", range(len(SCENE)))
def test_what_is_remembered_never_changes_what_is_seen(left_out: int) -> None:
    observer = Observer()
    everything = objects_of(*SCENE)
    less = objects_of(*(each for index, each in enumerate(SCENE) if index != left_out))
    for objects in (everything, less, everything):
        assert observer.snapshot(objects, NOW) == Observer().snapshot(objects, NOW)


def test_what_has_not_changed_is_the_same_object() -> None:
    observer, objects = Observer(), objects_of(*SCENE)
    one = observer.snapshot(objects, NOW)
    other = observer.snapshot(replace(objects), NOW)
    assert all(a is b for a, b in zip(one.jobs, other.jobs, strict=True))
    assert all(a is b for a, b in zip(one.nodes, other.nodes, strict=True))
