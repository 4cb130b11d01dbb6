"""Remove what a test has left in a cluster that it shares with the next one.

Only objects created since the test began are touched: the cluster may be somebody else's.
"""

from collections.abc import Iterable
from http import HTTPStatus

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until

GROUPS = "/apis"
GROUP = "/apis/plimsoll.dev/v1alpha1"
NODES = "/api/v1/nodes"
PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = (
    f"{ADMISSION}/mutatingadmissionpolicybindings",
    f"{ADMISSION}/mutatingadmissionpolicies",
)
KUBEFLOW = ("jax", "mpi", "paddle", "pytorch", "tf", "xgboost")
# From the outermost kind to the innermost: each makes objects of the next ones.
WORKLOADS = (
    ("/apis/workload.codeflare.dev/v1beta2", "appwrappers"),
    ("/apis/trainer.kubeflow.org/v1alpha1", "trainjobs"),
    *(("/apis/kubeflow.org/v1", f"{kind}jobs") for kind in KUBEFLOW),
    *(("/apis/ray.io/v1", kind) for kind in ("rayjobs", "rayclusters")),
    ("/apis/jobset.x-k8s.io/v1alpha2", "jobsets"),
    ("/apis/batch/v1", "jobs"),
    ("/apis/scheduling.k8s.io/v1alpha2", "podgroups"),
)
APPS = "/apis/apps/v1"
KEEPERS = ("deployments", "replicasets", "statefulsets", "daemonsets")
"""Kinds that make pods anew which go, the outermost first."""
EMPTY_SECONDS = 30


def cluster_collections(api: ApiServer) -> list[str]:
    """Return the paths of nodes, priority classes, policies for Jobs and our cluster-wide kinds."""
    # Before 1.36 Kubernetes has no such policies.
    served = {resource["name"] for resource in _served(api, ADMISSION)}
    policies = [each for each in POLICIES if each.rpartition("/")[2] in served]
    return [NODES, PRIORITY_CLASSES, *policies, *_our_collections(api, namespace=None)]


def cluster_objects(api: ApiServer, collections: Iterable[str] | None = None) -> frozenset[str]:
    """Return the paths of all objects of `collections`, of all `cluster_collections` without."""
    return frozenset(
        f"{collection}/{item['metadata']['name']}"
        for collection in collections or cluster_collections(api)
        for item in api.items(collection)
    )


def remove_new_objects(
    api: ApiServer, before: frozenset[str], collections: Iterable[str] | None = None
) -> None:
    """Delete the cluster-wide objects that did not exist `before`."""
    for path in cluster_objects(api, collections) - before:
        api.delete(path)


def remove_namespace(api: ApiServer, namespace: str) -> None:
    """Delete a namespace; return when its jobs and pods are gone.

    Kubernetes itself starts to empty a namespace only after five seconds.
    """
    pods = f"/api/v1/namespaces/{namespace}/pods"
    # Workloads first: what stands for an adopted one would be made again.
    groups = {group["name"] for group in api.get(GROUPS)["groups"]}
    for group, collection in WORKLOADS:
        if group.split("/")[2] in groups and api.exists(f"{group}/{collection}"):
            api.delete_all(f"{group}/namespaces/{namespace}/{collection}")
    for collection in _our_collections(api, namespace=namespace):
        api.delete_all(collection)
    if any(pod["metadata"].get("ownerReferences") for pod in api.items(pods)):
        for keepers in KEEPERS:
            api.delete_all(f"{APPS}/namespaces/{namespace}/{keepers}")
    api.delete_all(pods, grace_seconds=0)
    api.delete(f"/api/v1/namespaces/{namespace}")
    wait_until(
        lambda: not api.items(pods),
        timeout_seconds=EMPTY_SECONDS,
        what=f"the pods of {namespace} are gone",
    )


def _our_collections(api: ApiServer, *, namespace: str | None) -> list[str]:
    prefix = f"{GROUP}/namespaces/{namespace}" if namespace else GROUP
    return [
        f"{prefix}/{resource['name']}"
        for resource in _served(api, GROUP)
        if resource["namespaced"] == bool(namespace) and "/" not in resource["name"]
    ]


def _served(api: ApiServer, group: str) -> list[Manifest]:
    """The kinds of a group that are served; none if there is no such group."""
    try:
        return api.get(group)["resources"]
    except ApiServerRefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return []
