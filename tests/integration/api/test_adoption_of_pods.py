"""Which plain pods the chart's admission policy holds behind Plimsoll's scheduling gate.

Nothing is stored: what the API server would store is looked at.
"""

from collections.abc import Iterator, Mapping

import pytest

from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adoption_policy import is_gated, pods_policy
from support.objects.batch_jobs import GATE, QUEUE
from support.objects.manifests import GONE, edited
from support.objects.pod_groups import a_grouped_pod, gated

pytestmark = pytest.mark.usefixtures("policy")

STORES_NOTHING = True
POD = a_grouped_pod(0)


@pytest.fixture(scope="module")
def policy(control_plane: Cluster) -> Iterator[None]:
    with pods_policy(control_plane.api):
        yield


def admitted(api: ApiServer, namespace: str, pod: Manifest) -> Manifest:
    """A pod as it would be stored; nothing is."""
    return api.create(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)


def owned_by(api_version: str, kind: str, *, controller: bool = True) -> Manifest:
    owner = {"apiVersion": api_version, "kind": kind, "name": "o", "uid": "u"}
    return edited(POD, {"metadata.ownerReferences": [{**owner, "controller": controller}]})


def with_label(more: Mapping[str, str]) -> Manifest:
    return edited(POD, {"metadata.labels": {QUEUE: "default", **more}})


MAIN = POD["spec"]["containers"][0]
HELD: dict[str, Manifest] = {
    "of nobody": POD,
    "of a controller of one's own": owned_by("example.com/v1", "Run"),
    "owned, but not controlled": owned_by("batch/v1", "Job", controller=False),
    "with GPUs in an init container": edited(
        POD,
        {
            "spec.initContainers": [{**MAIN, "name": "first"}],
            "spec.containers": [{**MAIN, "resources": {}}],
        },
    ),
    "with the gate of another": edited(
        POD, {"spec.schedulingGates": [{"name": "example.com/quota"}]}
    ),
}
LEFT_ALONE: dict[str, Manifest] = {
    "without the label": edited(POD, {"metadata.labels": GONE}),
    "with an empty label": with_label({QUEUE: ""}),
    "of no group": edited(POD, {"spec.schedulingGroup": GONE}),
    "without GPUs": a_grouped_pod(0, gpus=0),
    "in Kueue's queue": with_label({"kueue.x-k8s.io/queue-name": "team"}),
    "Kueue's": with_label({"kueue.x-k8s.io/managed": "true"}),
    "behind Kueue's gate": edited(
        POD, {"spec.schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}
    ),
    "on a node already": edited(POD, {"spec.nodeName": "node"}),
    **{
        f"a {kind}'s": owned_by(version, kind)
        for version, kind in (
            ("batch/v1", "Job"),
            ("kubeflow.org/v1", "PyTorchJob"),
            ("ray.io/v1", "RayCluster"),
            ("plimsoll.dev/v1alpha1", "TrainingJob"),
        )
    },
}


@pytest.mark.parametrize("pod", HELD.values(), ids=HELD.keys())
def test_a_plain_pod_of_a_group_is_held(api: ApiServer, namespace: str, pod: Manifest) -> None:
    assert is_gated(admitted(api, namespace, pod))


@pytest.mark.parametrize("pod", LEFT_ALONE.values(), ids=LEFT_ALONE.keys())
def test_any_other_pod_is_as_it_was_written(api: ApiServer, namespace: str, pod: Manifest) -> None:
    found = admitted(api, namespace, pod)
    assert found["spec"].get("schedulingGates") == pod["spec"].get("schedulingGates")
    assert found["metadata"].get("labels") == pod["metadata"].get("labels")


def test_the_gates_that_a_pod_has_are_kept_and_ours_is_not_doubled(
    api: ApiServer, namespace: str
) -> None:
    both = edited(POD, {"spec.schedulingGates": [{"name": "example.com/quota"}]})
    gates = admitted(api, namespace, both)["spec"]["schedulingGates"]
    assert sorted(each["name"] for each in gates) == ["example.com/quota", GATE]
    assert admitted(api, namespace, gated(POD))["spec"]["schedulingGates"] == [{"name": GATE}]


@pytest.mark.parametrize(
    "resource",
    [
        *("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"),
        *("nvidia.com/gpu.other", "nvidia.com/gpus", "xnvidia.com/gpu", "nvidiaxcom/gpu"),
        *("amd.com/gpu", "amd.com/cpx_nps4", "amd.com/cpx", "intel.com/gpu"),
    ],
)
def test_the_policy_and_the_operator_agree_on_what_a_gpu_is(
    api: ApiServer, namespace: str, resource: str
) -> None:
    pod = edited(POD, {"spec.containers.0": {**MAIN, "resources": {"limits": {resource: 1}}}})
    assert is_gated(admitted(api, namespace, pod)) is is_gpu_resource(resource)
