"""Workloads of all kinds with one label, with their own controllers in a real cluster.

What differs between the kinds is in `NATURES`; every test is of every kind that it can be of.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.waiting import wait_until
from support.clusters.adoption_policy import adoption_policy, is_suspended, workloads_policy
from support.clusters.scene import SECONDS, Scene
from support.clusters.workload_lives import (
    adopted,
    change_workload,
    create_workload,
    end,
    stand_in_of,
    stand_in_path,
    suspension,
    until_no_pods,
    until_pods_run,
    until_size,
    until_workload,
    workload_path,
    workload_pods,
)
from support.objects.batch_jobs import GATE, QUEUE, a_batch_job
from support.objects.job_manifests import a_priority_class, a_queue, a_training_job
from support.objects.workloads import (
    COLLECTIONS,
    REPLICA_SPECS,
    a_jobset,
    a_pytorch_job,
    a_ray_cluster,
    a_ray_job,
    a_train_job,
    a_workload_of,
    an_app_wrapper,
    asking,
)
from support.project.pages import ROOT

OPERATOR_ENVIRONMENT = {"PLIMSOLL_ADOPTS_JOBS": "true"}
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("policy")]


@dataclass(frozen=True, slots=True)
class Nature:
    """How one kind of workload is made, of `size` pods with GPUs, and what its conditions are.

    `pods_beside` of them are no workers, and `without_gpus` more pods ask for none. `ended` is ""
    for what does not end with its pods; `why_failed` says why it has failed.
    """

    made: Callable[..., Manifest]
    ended: str
    pods_beside: int = 0
    without_gpus: int = 0
    suspended: str = "Suspended"
    why_failed: str = "Failed"

    def of(self, size: int = 2, **rest: Any) -> Manifest:  # noqa: ANN401 - what the kind knows
        """A workload of so many pods with GPUs."""
        return self.made(workers=size - self.pods_beside, **rest)


NATURES = {
    "Job": Nature(partial(a_batch_job, queue=None, held=False, backoffLimit=0), "Complete"),
    "JobSet": Nature(a_jobset, "Completed"),
    "TrainJob": Nature(a_train_job, "Complete"),
    "PyTorchJob": Nature(a_pytorch_job, "Succeeded", pods_beside=1),
    "RayCluster": Nature(a_ray_cluster, "", without_gpus=1, suspended="RayClusterSuspended"),
    "RayJob": Nature(a_ray_job, "", without_gpus=1),
    "AppWrapper": Nature(an_app_wrapper, "Succeeded", why_failed="Unhealthy"),
}
RESIZED = {
    "Job": {"parallelism": 4, "completions": 4},
    "PyTorchJob": {"Master": 1, "Worker": 3},
    "RayCluster": {"gpu": 4},
    "RayJob": {"gpu": 4},
}
"""The replicas, by what they are, of those kinds whose size can change, once it is 4."""
THOSE_THAT_END = [kind for kind, nature in NATURES.items() if nature.ended]


@pytest.fixture(scope="module")
def policy(control_plane: Cluster, all_controllers: None) -> Iterator[None]:
    del all_controllers  # they serve the kinds
    with adoption_policy(control_plane.api), workloads_policy(control_plane.api):
        yield


@pytest.fixture(params=NATURES)
def nature(request: pytest.FixtureRequest) -> Nature:
    """Each kind."""
    return NATURES[request.param]


def with_a_driver(kind: str, cpu: str) -> Manifest:
    """A workload of two workers with a GPU each, and a driver without one."""
    asks = {"name": "pytorch", "image": "driver:1", "resources": {"requests": {"cpu": cpu}}}
    pod: Manifest = {"containers": [asks], "restartPolicy": "Never"}
    if kind == "PyTorchJob":
        workload = a_pytorch_job(workers=2)
        workload["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"] = pod
        return workload
    if kind in ("RayCluster", "RayJob"):
        workload = NATURES[kind].of(2)
        spec = workload["spec"]
        spec.get("rayClusterSpec", spec)["headGroupSpec"]["template"]["spec"] = pod
        return workload
    workload = a_jobset(workers=2)
    driver = {"name": "driver", "template": {"spec": {"template": {"spec": pod}}}}
    workload["spec"]["replicatedJobs"].append(driver)
    return workload


def retried(workload: Manifest) -> None:
    """Have a workload's controller make pods again that are lost."""
    spec = workload["spec"]
    for component in spec.get("components", ()):
        retried(component["template"])
    if workload["kind"] == "Job":
        # KWOK ends no pod that is deleted, so its Job is not to wait for that.
        spec |= {"backoffLimit": 6, "podReplacementPolicy": "TerminatingOrFailed"}
    for jobs in spec.get("replicatedJobs", ()):
        jobs["template"]["spec"]["backoffLimit"] = 6
    for replica in spec.get("pytorchReplicaSpecs", {}).values():
        replica["restartPolicy"] = "OnFailure"


def replicas(workload: Manifest) -> dict[str, int]:
    """How many replicas a workload has of what."""
    if workload["kind"] == "Job":
        return {name: workload["spec"][name] for name in ("parallelism", "completions")}
    spec = workload["spec"].get("rayClusterSpec", workload["spec"])
    types = {name: each["replicas"] for name, each in spec.get("pytorchReplicaSpecs", {}).items()}
    groups = spec.get("workerGroupSpecs", ())
    return types | {each["groupName"]: each["replicas"] for each in groups}


def submitter_of(scene: Scene, rayjob: Manifest) -> Manifest:
    """The pod that submits a RayJob's program, once it runs."""
    selector = f"labelSelector=job-name={rayjob['metadata']['name']}"
    path = f"/api/v1/namespaces/{scene.namespace}/pods?{selector}"

    def runs() -> Manifest | None:
        found = [pod for pod in scene.api.items(path) if pod["status"].get("phase") == "Running"]
        return next(iter(found), None)

    return wait_until(runs, timeout_seconds=SECONDS, what="its submitter runs") or {}


def state(pod: Manifest) -> str:
    """A pod's node; what it is that has none."""
    waits = "gated" if pod["spec"].get("schedulingGates") else "driver"
    return pod["spec"].get("nodeName", waits)


def test_it_is_placed_where_the_plan_says_preempted_and_completes_if_it_ever_does(
    scene: Scene, nature: Nature
) -> None:
    scene.add_nodes(fake_node("a", gpus=1), fake_node("b", gpus=1))
    workload = asking(nature.of(2))
    first = scene.running(adopted(scene, workload))
    assert sorted(first.nodes) == ["a", "b"]
    urgent = a_training_job("urgent", workers=2, priorityClassName="urgent")
    scene.apply(a_priority_class("urgent", 1000), urgent)
    scene.running(urgent)
    until_workload(scene, workload, nature.suspended)
    until_no_pods(scene, workload)
    scene.delete(urgent)
    second = scene.running(stand_in_of(workload))
    assert not first.uids & second.uids
    if nature.ended:
        for pod in second.pods:
            end(scene, pod)
        until_workload(scene, workload, nature.ended)
        scene.until(stand_in_of(workload), reason="Completed")
    assert scene.operator.metric("plimsoll_plans_refused_total") in (None, 0)


def test_a_pod_that_is_gone_is_made_again_and_goes_where_it_was(
    scene: Scene, nature: Nature
) -> None:
    scene.add_nodes(fake_node("a", gpus=1), fake_node("b", gpus=1))
    workload = asking(nature.of(2))
    retried(workload)
    before = scene.running(adopted(scene, workload))
    lost, kept = before.pods
    scene.api.delete(scene.path("Pod", lost["metadata"]["name"]))

    def is_replaced() -> list[Manifest] | None:
        pods = scene.pods_of(stand_in_of(workload))
        runs = [pod for pod in pods if pod["status"].get("phase") == "Running"]
        uids = {pod["metadata"]["uid"] for pod in runs}
        return runs if len(runs) == 2 and lost["metadata"]["uid"] not in uids else None

    after = wait_until(is_replaced, timeout_seconds=SECONDS, what="another pod runs") or []
    assert {pod["spec"]["nodeName"] for pod in after} == {"a", "b"}
    assert kept["metadata"]["uid"] in {pod["metadata"]["uid"] for pod in after}


@pytest.mark.parametrize("nature", THOSE_THAT_END, indirect=True)
def test_one_that_fails_is_shown_as_failed(scene: Scene, nature: Nature) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    workload = asking(nature.of(2))
    if workload["kind"] == "TrainJob":  # its Jobs make failed pods again
        workload["spec"]["activeDeadlineSeconds"] = 10
    for pod in scene.running(adopted(scene, workload)).pods:
        end(scene, pod, failed=True)
    failed = until_workload(scene, workload, "Failed")
    (said,) = (c for c in failed["status"]["conditions"] if c["type"] == nature.why_failed)
    status = scene.until(stand_in_of(workload), reason="Failed")
    assert said["message"] in status["message"]


def test_a_rayjob_whose_submitter_fails_is_shown_as_failed_and_its_gpus_are_free(
    scene: Scene,
) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    workload = asking(a_ray_job(workers=2, submitterConfig={"backoffLimit": 0}))
    running = scene.running(adopted(scene, workload))
    assert running.nodes == ["a", "a"], "its submitter's pod is none of them"
    submitter = submitter_of(scene, workload)
    assert "schedulingGates" not in submitter["spec"]
    end(scene, submitter, failed=True)
    failed = until_workload(scene, workload, "Failed")
    status = scene.until(stand_in_of(workload), reason="Failed")
    assert status["message"] == f"SubmissionFailed: {failed['status']['message']}"
    until_no_pods(scene, workload)


def test_a_rayjob_that_is_tried_again_goes_where_it_was(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=1), fake_node("b", gpus=1))
    tried: Manifest = {"backoffLimit": 1, "submitterConfig": {"backoffLimit": 0}}
    workload = asking(a_ray_job(workers=2, **tried))
    first = scene.running(adopted(scene, workload))
    end(scene, submitter_of(scene, workload), failed=True)
    wait_until(
        lambda: not first.uids & {pod["metadata"]["uid"] for pod in workload_pods(scene, workload)},
        timeout_seconds=SECONDS,
        what="its first cluster is gone",
    )
    until_pods_run(scene, workload, 3)
    second = scene.running(stand_in_of(workload))
    assert sorted(second.nodes) == ["a", "b"]
    assert scene.status(stand_in_of(workload))["restarts"] == 1


def test_a_rayjob_that_takes_too_long_is_shown_as_failed(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    workload = asking(a_ray_job(workers=2, activeDeadlineSeconds=10, submissionMode="HTTPMode"))
    adopted(scene, workload)
    until_workload(scene, workload, "Failed")
    assert "DeadlineExceeded" in scene.until(stand_in_of(workload), reason="Failed")["message"]
    until_no_pods(scene, workload)


@pytest.mark.parametrize("kind", sorted(REPLICA_SPECS.keys() - NATURES.keys()))
def test_its_kin_is_placed_stopped_and_resumed(scene: Scene, kind: str) -> None:
    scene.add_nodes(fake_node("a", gpus=1))
    workload = asking(a_workload_of(kind))
    first = scene.running(adopted(scene, workload))
    assert first.nodes == ["a"]
    scene.edit(stand_in_of(workload), {"suspend": True})
    until_workload(scene, workload, "Suspended")
    until_no_pods(scene, workload)
    scene.edit(stand_in_of(workload), {"suspend": False})
    assert not first.uids & scene.running(stand_in_of(workload)).uids


def test_what_stands_for_it_goes_with_it(scene: Scene, nature: Nature) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    workload = asking(nature.of(2))
    scene.running(adopted(scene, workload))
    scene.api.delete(f"{workload_path(scene, workload)}?propagationPolicy=Background")
    wait_until(
        lambda: not scene.api.exists(stand_in_path(scene, workload)),
        timeout_seconds=SECONDS,
        what="the stand-in is gone",
    )
    until_no_pods(scene, workload)


def test_one_that_no_longer_asks_goes_on_by_itself(scene: Scene, nature: Nature) -> None:
    scene.add_nodes(fake_node("a", gpus=1))
    workload = asking(nature.of(2))
    adopted(scene, workload)
    scene.until(stand_in_of(workload), reason="CannotFit")
    scene.add_nodes(fake_node("b", gpus=1))
    first = scene.running(stand_in_of(workload))
    path = workload_path(scene, workload)
    scene.api.merge(path, {"metadata": {"labels": {QUEUE: None}}})
    wait_until(
        lambda: any("goes on in its place" in e["note"] for e in scene.events(workload, "Adopted")),
        timeout_seconds=SECONDS,
        what="it is said that it goes on",
    )
    assert scene.running(stand_in_of(workload)).uids == first.uids
    change_workload(scene, workload, suspension(workload, suspended=True))
    wait_until(
        lambda: not scene.api.exists(stand_in_path(scene, workload)),
        timeout_seconds=SECONDS,
        what="it is let go",
    )
    pods = until_pods_run(scene, workload, 2 + nature.without_gpus)
    assert not first.uids & {pod["metadata"]["uid"] for pod in pods}
    assert GATE not in json.dumps(scene.api.get(path)["spec"])


def test_it_is_as_large_as_there_is_room_where_its_kind_can_be(
    scene: Scene, nature: Nature
) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    workload = asking(nature.of(2), {"workers.min": "2", "workers.max": "4"})
    if workload["kind"] not in RESIZED:
        create_workload(scene, workload)
        (event,) = scene.events(workload, "InvalidSpec")
        assert "cannot change its size: create a TrainingJob instead" in event["note"]
        return
    assert len(scene.running(adopted(scene, workload)).pods) == 2
    scene.add_nodes(fake_node("b", gpus=2))
    until_size(scene, stand_in_of(workload), 4)
    running = scene.running(stand_in_of(workload))
    assert sorted(running.nodes) == ["a", "a", "b", "b"]
    assert running.status["revision"] == 2, "it is placed, and then grows at once"
    assert replicas(scene.api.get(workload_path(scene, workload))) == RESIZED[workload["kind"]]


def test_a_ray_cluster_changes_its_size_while_it_runs(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    workload = asking(a_ray_cluster(workers=2), {"workers.min": "1", "workers.max": "4"})
    first = scene.running(adopted(scene, workload))
    scene.add_nodes(fake_node("b", gpus=2))
    until_size(scene, stand_in_of(workload), 4)
    grown = scene.running(stand_in_of(workload))
    assert sorted(grown.nodes) == ["a", "a", "b", "b"]
    assert first.uids < grown.uids, "those that ran are still there"
    urgent = a_training_job("urgent", workers=2, priorityClassName="urgent")
    scene.apply(a_priority_class("urgent", 1000), urgent)
    taken = set(scene.running(urgent).nodes)
    until_size(scene, stand_in_of(workload), 2)
    shrunk = scene.running(stand_in_of(workload))
    assert shrunk.uids < grown.uids
    assert not taken & set(shrunk.nodes)
    assert len(workload_pods(scene, workload)) == 3, "and its head"
    assert shrunk.status["startedTime"] == first.status["startedTime"]
    assert "disruptionTimes" not in shrunk.status, "it was never stopped"


@pytest.mark.parametrize("kind", ["JobSet", "PyTorchJob", "RayCluster", "RayJob"])
def test_pods_without_gpus_find_their_nodes_before_those_with_gpus_start(
    scene: Scene, kind: str
) -> None:
    scene.add_nodes(fake_node("a", gpus=2))
    workload = asking(with_a_driver(kind, cpu="500"))
    adopted(scene, workload)
    scene.until(stand_in_of(workload), reason="Admitted")
    wait_until(
        lambda: sorted(map(state, workload_pods(scene, workload))) == ["driver", "gated", "gated"],
        timeout_seconds=SECONDS,
        what="its workers wait for its driver",
    )
    scene.add_nodes(fake_node("large", gpus=0, cpu="600"))
    running = scene.running(stand_in_of(workload))
    assert set(running.nodes) == {"a"}
    assert sorted(map(state, workload_pods(scene, workload))) == ["a", "a", "large"]


@pytest.mark.parametrize(
    "name",
    ["app-wrapper", "job", "jobset", "pytorch-job", "ray-cluster", "ray-job", "train-job"],
)
def test_the_examples_are_planned(scene: Scene, name: str) -> None:
    scene.apply(a_queue("research"), a_queue("production"))
    for gpu_type in (H100, L4):
        scene.add_nodes(*(fake_node(f"{gpu_type.lower()}-{n}", gpu_type, 4) for n in range(4)))
    documents = manifests_in((ROOT / "examples" / "workloads" / f"{name}.yaml").read_text())
    (workload,) = (each for each in documents if each["kind"] in COLLECTIONS)
    running = scene.running(adopted(scene, workload))
    assert len(running.pods) >= 4, "as many as it has, or may have"


def test_what_is_wrong_is_said_of_it_and_it_is_left_as_it_was(scene: Scene, nature: Nature) -> None:
    kueue, owned = asking(nature.of(2, name="kueue")), asking(nature.of(2, name="owned"))
    kueue["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "team"
    owner = {"apiVersion": "example.com/v1", "kind": "Pipeline", "name": "nightly", "uid": "u"}
    owned["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    misspelt = asking(nature.of(2, name="misspelt"), {"checkpoint.intervall": "5m"})
    no_gpus = asking(nature.of(2, name="no-gpus", gpus=0))
    said = [
        (kueue, "ManagedElsewhere", "kueue.x-k8s.io/queue-name, so Kueue manages it"),
        (owned, "ManagedElsewhere", "belongs to Pipeline nightly, which suspends and resumes it"),
        (misspelt, "InvalidSpec", "plimsoll.dev/checkpoint.intervall: is unknown: did you mean"),
        (no_gpus, "InvalidSpec", "asks for no GPU: set nvidia.com/gpu"),
    ]
    for workload, reason, words in said:
        create_workload(scene, workload)
        (event,) = scene.events(workload, reason)
        assert words in event["note"]
        assert not scene.api.exists(stand_in_path(scene, workload))
        is_held = workload is misspelt
        assert is_suspended(scene.api.get(workload_path(scene, workload))) is is_held
