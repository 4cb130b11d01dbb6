"""Which workloads of other kinds the chart's admission policy holds, and what it makes of them.

Nothing is stored: what the API server would store is looked at. The kinds' own webhooks are asked.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import owner
from support.clusters.adoption_policy import await_held, is_suspended, workloads_policy
from support.clusters.tenants import fresh_namespace
from support.objects.batch_jobs import QUEUE
from support.objects.manifests import GONE, edited
from support.objects.workloads import (
    COLLECTIONS,
    KINDS,
    REPLICA_SPECS,
    a_jobset,
    a_ray_cluster,
    a_workload_of,
    an_app_wrapper,
    asking,
    replicated,
    suspended,
    templates,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("policy")]

STORES_NOTHING = True
KUEUE_QUEUE = {"kueue.x-k8s.io/queue-name": "team"}
KUEUE_MANAGED = {"kueue.x-k8s.io/managed": "true"}
OF_USERS = "workload.codeflare.dev/user"
A_GPU = {"nvidia.com/gpu": 1}
EVERY = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def policy(control_plane: Cluster, all_controllers: None) -> Iterator[None]:
    del all_controllers  # they serve the kinds
    with workloads_policy(control_plane.api):
        yield


@pytest.fixture(scope="module")
def labelled(control_plane: Cluster) -> Iterator[str]:
    """A namespace whose workloads go to the queue `team`."""
    api = control_plane.api
    with fresh_namespace(api, "labelled") as namespace:
        api.merge(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {QUEUE: "team"}}})
        await_held(api, COLLECTIONS["JobSet"].format(namespace), a_jobset())
        yield namespace


def admitted(api: ApiServer, namespace: str, workload: Manifest) -> Manifest:
    """A workload as it would be stored; nothing is."""
    return api.create(f"{COLLECTIONS[workload['kind']].format(namespace)}?dryRun=All", workload)


def labels(workload: Manifest) -> Mapping[str, str]:
    """The labels of a workload but for those by which AppWrapper's webhook notes its user."""
    found: Mapping[str, str] = workload["metadata"].get("labels", {})
    return {key: value for key, value in found.items() if not key.startswith(OF_USERS)}


def own(workload: Manifest, edits: Mapping[str, Any] | None = None) -> Manifest:
    """The workload with a label of its own, and changes."""
    return edited(asking(workload, queue="own"), edits or {})


def in_last_pod(workload: Manifest, change: Callable[[Manifest], object]) -> Manifest:
    """The workload with its last pod template changed, that with GPUs."""
    workload = own(workload)
    *_, last = templates(workload)
    change(last)
    return workload


def with_label(workload: Manifest, more: Mapping[str, str]) -> Manifest:
    return own(workload, {"metadata.labels": {QUEUE: "own", **more}})


def wrapping(*wrapped: Manifest) -> Manifest:
    """An AppWrapper with a label of its own."""
    return own(an_app_wrapper("train", *wrapped))


def in_template(kind: str, more: Mapping[str, str]) -> Manifest:
    """A workload with labels on its last pod template."""
    at = (
        "spec.replicatedJobs.1.template.spec.template"
        if kind == "JobSet"
        else f"spec.{REPLICA_SPECS[kind]}.Worker.template"
    )
    return own(a_workload_of(kind), {f"{at}.metadata": {"labels": dict(more)}})


@EVERY
def test_a_labelled_workload_with_gpus_is_suspended(
    api: ApiServer, namespace: str, kind: str
) -> None:
    found = admitted(api, namespace, own(a_workload_of(kind)))
    assert is_suspended(found)
    assert labels(found) == {QUEUE: "own"}


@EVERY
def test_a_workload_gets_the_queue_of_its_namespace(
    api: ApiServer, labelled: str, kind: str
) -> None:
    bare = admitted(api, labelled, a_workload_of(kind))
    assert (is_suspended(bare), labels(bare)) == (True, {QUEUE: "team"})
    with_others = edited(a_workload_of(kind), {"metadata.labels": {"app": "mine"}})
    found = admitted(api, labelled, with_others)
    assert (is_suspended(found), labels(found)) == (True, {QUEUE: "team", "app": "mine"})
    of_its_own = admitted(api, labelled, own(a_workload_of(kind)))
    assert (is_suspended(of_its_own), labels(of_its_own)) == (True, {QUEUE: "own"})


@EVERY
def test_a_workload_with_an_empty_label_stays_out(api: ApiServer, labelled: str, kind: str) -> None:
    found = admitted(api, labelled, asking(a_workload_of(kind), queue=""))
    assert (is_suspended(found), labels(found)) == (False, {QUEUE: ""})


@EVERY
def test_a_workload_without_gpus_is_as_it_was_written(
    api: ApiServer, labelled: str, kind: str
) -> None:
    found = admitted(api, labelled, a_workload_of(kind, gpus=0))
    assert (is_suspended(found), labels(found)) == (False, {})


@EVERY
def test_a_workload_without_a_queue_is_as_it_was_written(
    api: ApiServer, namespace: str, kind: str
) -> None:
    found = admitted(api, namespace, a_workload_of(kind))
    assert (is_suspended(found), labels(found)) == (False, {})


@EVERY
def test_a_suspended_one_gets_its_queue(api: ApiServer, labelled: str, kind: str) -> None:
    found = admitted(api, labelled, suspended(a_workload_of(kind)))
    assert (is_suspended(found), labels(found)) == (True, {QUEUE: "team"})


WRAPPER, JOBSET, PYTORCH, RAY, RAY_JOB, TRAIN = (
    a_workload_of("AppWrapper"),
    a_workload_of("JobSet"),
    a_workload_of("PyTorchJob"),
    a_workload_of("RayCluster"),
    a_workload_of("RayJob"),
    a_workload_of("TrainJob"),
)
WRAPPED = (JOBSET, PYTORCH, RAY, RAY_JOB)
A_SERVICE: Manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "train"}}
OWNED = [{**owner(TRAIN), "uid": "1"}]
OF_A_RAY_JOB = [{**owner(RAY_JOB), "uid": "1"}]
NODE: Manifest = {"nodeName": "node"}
LEFT_ALONE: dict[str, Manifest] = {
    "zero GPUs": in_last_pod(
        JOBSET,
        lambda pod: pod["containers"][0].update(resources={"limits": {"nvidia.com/gpu": 0}}),
    ),
    "zero GPUs of a TrainJob": own(
        TRAIN, {"spec.trainer.resourcesPerNode": {"limits": {"nvidia.com/gpu": "0"}}}
    ),
    "a TrainJob that says nothing of its pods": own(TRAIN, {"spec.trainer": GONE}),
    "Kueue's queue": with_label(JOBSET, KUEUE_QUEUE),
    "Kueue's": with_label(PYTORCH, KUEUE_MANAGED),
    "a TrainJob in Kueue's queue": with_label(TRAIN, KUEUE_QUEUE),
    "Kueue's queue in a JobSet's template": in_template("JobSet", KUEUE_QUEUE),
    "Kueue's in a JobSet's template": in_template("JobSet", KUEUE_MANAGED),
    "Kueue's queue around a JobSet's template": own(
        JOBSET, {"spec.replicatedJobs.0.template.metadata": {"labels": KUEUE_QUEUE}}
    ),
    "Kueue's queue in a PyTorchJob's template": in_template("PyTorchJob", KUEUE_QUEUE),
    "Kueue's gate": in_last_pod(
        JOBSET, lambda pod: pod.update(schedulingGates=[{"name": "kueue.x-k8s.io/topology"}])
    ),
    "a JobSet of another controller": own(JOBSET, {"spec.managedBy": "example.com/other"}),
    "a PyTorchJob of MultiKueue": own(
        PYTORCH, {"spec.runPolicy.managedBy": "kueue.x-k8s.io/multikueue"}
    ),
    "a TrainJob of MultiKueue": own(TRAIN, {"spec.managedBy": "kueue.x-k8s.io/multikueue"}),
    "a TrainJob's": own(JOBSET, {"metadata.ownerReferences": OWNED}),
    "a RayCluster that Ray resizes": own(RAY, {"spec.enableInTreeAutoscaling": True}),
    "a RayCluster of MultiKueue": own(RAY, {"spec.managedBy": "kueue.x-k8s.io/multikueue"}),
    "a RayJob's": own(RAY, {"metadata.ownerReferences": OF_A_RAY_JOB}),
    "a RayJob that Ray resizes": own(
        RAY_JOB, {"spec.rayClusterSpec.enableInTreeAutoscaling": True}
    ),
    "a RayJob of MultiKueue": own(RAY_JOB, {"spec.managedBy": "kueue.x-k8s.io/multikueue"}),
    "a RayJob that leaves its cluster": own(RAY_JOB, {"spec.shutdownAfterJobFinishes": False}),
    "a RayJob that says nothing of its cluster's end": own(
        RAY_JOB, {"spec.shutdownAfterJobFinishes": GONE}
    ),
    "a RayJob that waits for its user": own(RAY_JOB, {"spec.submissionMode": "InteractiveMode"}),
    "a RayJob on a cluster that is there": own(
        RAY_JOB, {"spec.rayClusterSpec": GONE, "spec.clusterSelector": {"ray.io/cluster": "mine"}}
    ),
    "an AppWrapper of MultiKueue": own(WRAPPER, {"spec.managedBy": "kueue.x-k8s.io/multikueue"}),
    "an AppWrapper of something in Kueue's queue": own(
        WRAPPER, {"spec.components.0.template.metadata.labels": KUEUE_QUEUE}
    ),
    "an AppWrapper of a RayJob that leaves its cluster": wrapping(
        edited(RAY_JOB, {"spec.shutdownAfterJobFinishes": False})
    ),
    "an AppWrapper of a RayCluster that Ray resizes": wrapping(
        edited(RAY, {"spec.enableInTreeAutoscaling": True})
    ),
    "an AppWrapper of what has no pods": wrapping(a_workload_of("JobSet", gpus=0), A_SERVICE),
    "an AppWrapper on a node already": in_last_pod(WRAPPER, lambda pod: pod.update(NODE)),
    "a JobSet on a node already": in_last_pod(JOBSET, lambda pod: pod.update(NODE)),
    "a PyTorchJob on a node already": in_last_pod(PYTORCH, lambda pod: pod.update(NODE)),
    "a RayCluster on a node already": in_last_pod(RAY, lambda pod: pod.update(NODE)),
    "a RayJob on a node already": in_last_pod(RAY_JOB, lambda pod: pod.update(NODE)),
}


@pytest.mark.parametrize("workload", LEFT_ALONE.values(), ids=LEFT_ALONE.keys())
def test_what_is_not_plimsolls_is_left_alone(
    api: ApiServer, namespace: str, workload: Manifest
) -> None:
    found = admitted(api, namespace, workload)
    assert not is_suspended(found)
    assert labels(found) == labels(workload)


def moved_to_init(pod: Manifest) -> None:
    """Have a container that comes first ask for what the only one does."""
    (main,) = pod["containers"]
    pod["initContainers"] = [{**main, "name": "first"}]
    pod["containers"] = [{**main, "resources": {}}]


def many(pod: Manifest) -> None:
    """Put many containers without GPUs before the one with them."""
    (main,) = pod["containers"]
    others = [{"name": f"c{number}", "image": "other:1"} for number in range(99)]
    pod["containers"] = [*others, main]


LAUNCHER = "spec.mpiReplicaSpecs.Launcher"
HELD: dict[str, Manifest] = {
    **{f"an AppWrapper of a {each['kind']}": wrapping(A_SERVICE, each) for each in WRAPPED},
    "an AppWrapper run by its own controller": own(
        WRAPPER, {"spec.managedBy": "workload.codeflare.dev/appwrapper-controller"}
    ),
    "GPUs in a JobSet's init container": in_last_pod(JOBSET, moved_to_init),
    "GPUs in a PyTorchJob's init container": in_last_pod(PYTORCH, moved_to_init),
    "GPUs in a JobSet's last container": in_last_pod(JOBSET, many),
    "GPUs in a PyTorchJob's last container": in_last_pod(PYTORCH, many),
    "many replicated Jobs": own(
        a_jobset(
            replicatedJobs=[
                *(replicated(f"driver-{number}") for number in range(20)),
                replicated("workers", gpus=1),
            ]
        )
    ),
    "a run policy that says something else": own(
        PYTORCH, {"spec.runPolicy": {"cleanPodPolicy": "None"}}
    ),
    "a run policy that says nothing": own(PYTORCH, {"spec.runPolicy": {}}),
    "a PyTorchJob run by its own operator": own(
        PYTORCH, {"spec.runPolicy.managedBy": "kubeflow.org/training-operator"}
    ),
    "a JobSet run by its own controller": own(
        JOBSET, {"spec.managedBy": "jobset.sigs.k8s.io/jobset-controller"}
    ),
    "a TrainJob run by its own controller": own(
        TRAIN, {"spec.managedBy": "trainer.kubeflow.org/trainjob-controller"}
    ),
    "a RayCluster run by KubeRay": own(RAY, {"spec.managedBy": "ray.io/kuberay-operator"}),
    "a RayJob run by KubeRay": own(RAY_JOB, {"spec.managedBy": "ray.io/kuberay-operator"}),
    "a RayJob with a submitter beside its head": own(
        RAY_JOB, {"spec.submissionMode": "SidecarMode"}
    ),
    "GPUs of a Ray head": own(
        a_ray_cluster(gpus=0),
        {"spec.headGroupSpec.template": RAY["spec"]["workerGroupSpecs"][0]["template"]},
    ),
    "owned, but not controlled": own(
        JOBSET, {"metadata.ownerReferences": [{**OWNED[0], "controller": False}]}
    ),
    "the gate of another": in_last_pod(
        JOBSET, lambda pod: pod.update(schedulingGates=[{"name": "example.com/quota"}])
    ),
    "replicas without a template": own(a_workload_of("MPIJob"), {LAUNCHER: {"replicas": 1}}),
    "a template without a spec": own(a_workload_of("MPIJob"), {f"{LAUNCHER}.template": {}}),
    "GPUs as text": in_last_pod(
        JOBSET,
        lambda pod: pod["containers"][0].update(resources={"limits": {"nvidia.com/gpu": "1"}}),
    ),
    "a TrainJob's GPUs as text": own(
        TRAIN, {"spec.trainer.resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}}}
    ),
}


@pytest.mark.parametrize("workload", HELD.values(), ids=HELD.keys())
def test_a_workload_with_gpus_is_held(api: ApiServer, namespace: str, workload: Manifest) -> None:
    found = admitted(api, namespace, workload)
    assert is_suspended(found)
    assert labels(found)[QUEUE] == "own"


@EVERY
def test_all_else_of_a_workload_is_kept(api: ApiServer, namespace: str, kind: str) -> None:
    meta = {"annotations": {"example.com/a": ""}, "finalizers": ["example.com/mine"]}
    edits = {f"metadata.{name}": each for name, each in meta.items()}
    held, left = (
        admitted(api, namespace, edited(asking(a_workload_of(kind), queue=queue), edits))
        for queue in ("own", "")
    )
    assert is_suspended(held)
    assert not is_suspended(left)
    assert stripped(held) == stripped(left)


def stripped(workload: Manifest) -> Manifest:
    """A workload but for what the policy adds and what differs between any two."""
    meta = {name: workload["metadata"].get(name) for name in ("annotations", "finalizers", "name")}
    spec = {k: v for k, v in workload["spec"].items() if k not in ("runPolicy", "suspend")}
    policy = {k: v for k, v in workload["spec"].get("runPolicy", {}).items() if k != "suspend"}
    return {"metadata": meta, "spec": spec, "runPolicy": policy}


@pytest.mark.parametrize("kind", ["JobSet", "PyTorchJob", "TrainJob"])
@pytest.mark.parametrize(
    "resource",
    [
        *("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"),
        *("nvidia.com/gpu.other", "nvidia.com/gpus", "xnvidia.com/gpu", "nvidiaxcom/gpu"),
        *("amd.com/gpu", "amd.com/cpx_nps4", "amd.com/cpx", "intel.com/gpu"),
    ],
)
def test_the_policy_and_the_operator_agree_on_what_a_gpu_is(
    api: ApiServer, namespace: str, kind: str, resource: str
) -> None:
    limits = {"limits": {resource: 1}}
    workload = (
        own(TRAIN, {"spec.trainer.resourcesPerNode": limits})
        if kind == "TrainJob"
        else in_last_pod(
            a_workload_of(kind), lambda pod: pod["containers"][0].update(resources=limits)
        )
    )
    assert is_suspended(admitted(api, namespace, workload)) is is_gpu_resource(resource)
