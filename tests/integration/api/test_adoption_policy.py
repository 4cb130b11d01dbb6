"""Which Jobs the chart's admission policy holds, and what it makes of them.

Nothing is stored: what the API server would store is looked at.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adoption_policy import admitted, adoption_policy, await_adoption
from support.clusters.tenants import fresh_namespace
from support.objects.plain_jobs import ONE_GPU, a_container, a_plain_job

STORES_NOTHING = True
QUEUE = "plimsoll.dev/queue"
GATE = {"name": "plimsoll.dev/placement"}
KUEUE_QUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "team"}}
KUEUE_MANAGED = {"labels": {"kueue.x-k8s.io/managed": "true"}}
NO_GPU = {"containers": [a_container(amounts={"cpu": "1", "example.com/gpu": "1"})]}


@pytest.fixture(scope="module", autouse=True)
def _policy(control_plane: Cluster) -> Iterator[None]:
    with adoption_policy(control_plane.api):
        yield


@pytest.fixture(scope="module")
def labelled(control_plane: Cluster) -> Iterator[str]:
    """A namespace whose Jobs go to the queue `team`."""
    api = control_plane.api
    with fresh_namespace(api, "labelled") as namespace:
        api.merge(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {QUEUE: "team"}}})
        await_adoption(api, namespace, a_plain_job())
        yield namespace


def gates(job: Manifest) -> list[Manifest]:
    return job["spec"]["template"]["spec"].get("schedulingGates", [])


def is_held(job: Manifest) -> bool:
    """Whether a Job is suspended and its pods gated: both, or neither."""
    suspended: bool = job["spec"]["suspend"]
    assert suspended is (GATE in gates(job))
    return suspended


def owned_by(kind: str, api_version: str, *, controller: bool = True) -> dict[str, Any]:
    owner = {"kind": kind, "apiVersion": api_version, "name": "owner", "uid": "1"}
    return {"ownerReferences": [{**owner, "controller": controller}]}


def test_a_labelled_job_is_suspended_and_gated(api: ApiServer, namespace: str) -> None:
    job = admitted(api, namespace, a_plain_job(queue="own"))
    assert job["metadata"]["labels"] == {QUEUE: "own"}
    assert job["spec"]["suspend"] is True
    assert gates(job) == [GATE]


def test_a_job_gets_the_queue_of_its_namespace(api: ApiServer, labelled: str) -> None:
    job = admitted(api, labelled, a_plain_job(metadata={"labels": {"app": "mine"}}))
    assert job["metadata"]["labels"] == {QUEUE: "team", "app": "mine"}
    assert is_held(job)
    bare = admitted(api, labelled, a_plain_job())
    assert bare["metadata"]["labels"] == {QUEUE: "team"}
    assert is_held(bare)


def test_the_label_of_a_job_wins_over_its_namespaces(api: ApiServer, labelled: str) -> None:
    job = admitted(api, labelled, a_plain_job(queue="own"))
    assert job["metadata"]["labels"] == {QUEUE: "own"}
    assert is_held(job)


def test_a_job_with_an_empty_label_stays_out(api: ApiServer, labelled: str) -> None:
    job = admitted(api, labelled, a_plain_job(queue=""))
    assert job["metadata"]["labels"] == {QUEUE: ""}
    assert not is_held(job)


def test_a_job_without_a_queue_is_as_it_was_written(api: ApiServer, namespace: str) -> None:
    job = admitted(api, namespace, a_plain_job(pod={"schedulingGates": [{"name": "a/b"}]}))
    assert QUEUE not in job["metadata"].get("labels", {})
    assert job["spec"]["suspend"] is False
    assert gates(job) == [{"name": "a/b"}]


LEFT_ALONE: dict[str, Manifest] = {
    "no GPUs": a_plain_job(queue="own", pod=NO_GPU),
    "no amounts": a_plain_job(queue="own", pod={"containers": [{"name": "a", "image": "a"}]}),
    "zero GPUs": a_plain_job(
        queue="own", pod={"containers": [a_container(amounts={"nvidia.com/gpu": 0})]}
    ),
    "Kueue's queue": a_plain_job(queue="own", metadata=KUEUE_QUEUE),
    "Kueue's": a_plain_job(queue="own", metadata=KUEUE_MANAGED),
    "Kueue's queue in the template": a_plain_job(queue="own", template=KUEUE_QUEUE),
    "Kueue's in the template": a_plain_job(queue="own", template=KUEUE_MANAGED),
    "Kueue's gate": a_plain_job(
        queue="own", pod={"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}
    ),
    "another controller's": a_plain_job(queue="own", managedBy="kueue.x-k8s.io/multikueue"),
    "a JobSet's": a_plain_job(queue="own", metadata=owned_by("JobSet", "jobset.x-k8s.io/v1alpha2")),
    "of another kind called CronJob": a_plain_job(
        queue="own", metadata=owned_by("CronJob", "example.com/v1")
    ),
    "on a node already": a_plain_job(queue="own", pod={"nodeName": "node"}),
}


@pytest.mark.parametrize("job", LEFT_ALONE.values(), ids=LEFT_ALONE.keys())
def test_what_is_not_plimsolls_is_left_alone(api: ApiServer, namespace: str, job: Manifest) -> None:
    assert not is_held(admitted(api, namespace, job))


def test_what_is_not_plimsolls_gets_no_queue_of_its_namespace(
    api: ApiServer, labelled: str
) -> None:
    job = admitted(api, labelled, a_plain_job(pod=NO_GPU))
    assert QUEUE not in job["metadata"].get("labels", {})
    assert not is_held(job)


HELD: dict[str, Manifest] = {
    "a CronJob's": a_plain_job(queue="own", metadata=owned_by("CronJob", "batch/v1")),
    "owned, but not controlled": a_plain_job(
        queue="own", metadata=owned_by("ConfigMap", "v1", controller=False)
    ),
    "managed by Kubernetes": a_plain_job(queue="own", managedBy="kubernetes.io/job-controller"),
    "suspended": a_plain_job(queue="own", suspend=True),
    "gated": a_plain_job(queue="own", pod={"schedulingGates": [GATE]}),
    "GPUs in an init container": a_plain_job(
        queue="own",
        pod={"containers": NO_GPU["containers"], "initContainers": [a_container("first")]},
    ),
    "GPUs in the last container": a_plain_job(
        queue="own",
        pod={"containers": [*(a_container(f"c{i}", {"cpu": 1}) for i in range(99)), a_container()]},
    ),
    "an environment variable twice": a_plain_job(
        queue="own", pod={"containers": [{**a_container(), "env": [{"name": "A"}, {"name": "A"}]}]}
    ),
}


@pytest.mark.parametrize("job", HELD.values(), ids=HELD.keys())
def test_a_job_with_gpus_is_held(api: ApiServer, namespace: str, job: Manifest) -> None:
    found = admitted(api, namespace, job)
    assert is_held(found)
    assert gates(found) == [GATE]


def test_the_gates_of_others_are_kept(api: ApiServer, namespace: str) -> None:
    other = {"name": "example.com/quota"}
    for given in ([other], [other, GATE]):
        job = a_plain_job(queue="own", pod={"schedulingGates": given})
        assert gates(admitted(api, namespace, job)) == [other, GATE]


def test_all_else_of_a_job_is_kept(api: ApiServer, namespace: str) -> None:
    """The Job is put together anew, so nothing may be lost of it."""
    pod: Manifest = {
        "containers": [
            {
                **a_container(),
                "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "args": ["b", "a", "b"],
            }
        ],
        "tolerations": [{"operator": "Exists"}],
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}] * 2,
    }
    meta = {"annotations": {"example.com/a": ""}, "finalizers": ["example.com/mine"]}
    given: Manifest = {"metadata": meta, "pod": pod, "completions": 3, "completionMode": "Indexed"}
    held = admitted(api, namespace, a_plain_job(queue="own", **given))
    left = admitted(api, namespace, a_plain_job(queue="", **given))
    assert is_held(held)
    assert stripped(held) == stripped(left)


def stripped(job: Manifest) -> Manifest:
    """A Job but for what the policy adds and what differs between any two."""
    pod = {k: v for k, v in job["spec"]["template"]["spec"].items() if k != "schedulingGates"}
    kept = ("annotations", "finalizers", "name")
    spec = {k: v for k, v in job["spec"].items() if k not in {"selector", "suspend", "template"}}
    return {"metadata": {k: job["metadata"][k] for k in kept}, "spec": spec, "pod": pod}


@pytest.mark.parametrize(
    "resource",
    [
        *("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"),
        *("nvidia.com/mig-1g.10gb.shared", "nvidia.com/gpu.other", "nvidia.com/gpus"),
        *("xnvidia.com/gpu", "nvidiaxcom/gpu", "nvidia.com/migs", "nvidia.com.example/gpu"),
        *("amd.com/gpu", "amd.com/cpx_nps4", "amd.com/spx_nps1", "amd.com/gpu.shared"),
        *("amd.com/cpx", "amd.com/cpx_x_nps4", "amd.com/cp_nps4", "amd.com/mig-1g.10gb"),
        *("intel.com/gpu", "example.com/nvidia.com.gpu"),
    ],
)
def test_the_policy_and_the_operator_agree_on_what_a_gpu_is(
    api: ApiServer, namespace: str, resource: str
) -> None:
    pod = {"containers": [a_container(amounts={resource: 1})]}
    job = admitted(api, namespace, a_plain_job(queue="own", pod=pod))
    assert is_held(job) is is_gpu_resource(resource)


def test_gpus_have_a_limit_which_is_what_the_policy_looks_at(
    api: ApiServer, namespace: str
) -> None:
    pod = {"containers": [{**a_container(), "resources": {"requests": dict(ONE_GPU)}}]}
    with pytest.raises(ApiServerRefusedError, match="Limit must be set"):
        admitted(api, namespace, a_plain_job(queue="own", pod=pod))
