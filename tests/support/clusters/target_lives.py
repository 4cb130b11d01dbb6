"""What tests do to workloads that jobs target: they are made, scaled, and looked at."""

import copy
from collections.abc import Iterable
from typing import Any

from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_history import is_ready
from support.clusters.scene import SECONDS, Scene

GATE = "plimsoll.dev/placement"
_PLURAL = {"Deployment": "deployments", "StatefulSet": "statefulsets"}


def a_workload(
    kind: str = "Deployment",
    name: str = "web",
    *,
    replicas: int = 1,
    gated: bool = False,
    gpus: int = 1,
    **pod: Any,  # noqa: ANN401 - fields of a pod's spec
) -> Manifest:
    """A Deployment or StatefulSet whose pods ask for GPUs, perhaps behind our gate."""
    labels = {"app": name}
    container: Manifest = {"name": "main", "image": "registry.example/main:1"}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, **pod}
    if gated:
        spec["schedulingGates"] = [{"name": GATE}]
    whole: Manifest = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }
    if kind == "Deployment":
        whole["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    else:
        whole |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": whole}


def a_targeting_job(
    name: str = "serve",
    *,
    target: Manifest | None = None,
    bounds: tuple[int, int] = (0, 6),
    types: Iterable[str] = (H100,),
    **spec: Any,  # noqa: ANN401 - fields of a job's spec
) -> Manifest:
    """A job that targets a workload."""
    target = target or a_workload()
    ref = {
        "apiVersion": target["apiVersion"],
        "kind": target["kind"],
        "name": target["metadata"]["name"],
        "replicas": {"min": bounds[0], "max": bounds[1]},
        "profiles": [{"type": kind, "load": 1} for kind in types],
    }
    head = {"apiVersion": "plimsoll.dev/v1alpha1", "kind": "InferenceJob"}
    return {**head, "metadata": {"name": name}, "spec": {"targetRef": ref, **spec}}


def path_of(scene: Scene, workload: Manifest) -> str:
    """Where a workload is."""
    plural = _PLURAL[workload["kind"]]
    name = workload["metadata"]["name"]
    return f"/apis/apps/v1/namespaces/{scene.namespace}/{plural}/{name}"


def make(scene: Scene, workload: Manifest) -> None:
    """Make a workload, as kubectl create does."""
    scene.api.create(path_of(scene, workload).rpartition("/")[0], copy.deepcopy(workload))


def set_count(scene: Scene, workload: Manifest, replicas: int) -> None:
    """Set a workload's count, as another autoscaler does."""
    scene.api.merge(f"{path_of(scene, workload)}/scale", {"spec": {"replicas": replicas}})


def count(scene: Scene, workload: Manifest) -> int:
    """How many replicas a workload is to have."""
    return scene.api.get(path_of(scene, workload))["spec"]["replicas"]


def pods_of_workload(scene: Scene, workload: Manifest) -> list[Manifest]:
    """The workload's pods that are not on their way out, by name."""
    app = workload["metadata"]["name"]
    found = scene.api.items(f"/api/v1/namespaces/{scene.namespace}/pods?labelSelector=app={app}")
    there = (pod for pod in found if "deletionTimestamp" not in pod["metadata"])
    return sorted(there, key=lambda pod: pod["metadata"]["name"])


def nodes_of(pods: Iterable[Manifest]) -> list[str]:
    """The nodes of pods, "" for each that has none."""
    return sorted(pod["spec"].get("nodeName", "") for pod in pods)


def until_ready(scene: Scene, workload: Manifest, replicas: int) -> list[Manifest]:
    """Wait until a workload has just so many pods, all of them ready; the pods."""

    def has_them() -> bool:
        pods = pods_of_workload(scene, workload)
        return len(pods) == replicas and all(map(is_ready, pods))

    name = workload["metadata"]["name"]
    try:
        wait_until(has_them, timeout_seconds=SECONDS, what=f"{name} has {replicas} ready")
    except TimeoutError as error:
        pods = pods_of_workload(scene, workload)
        said = {pod["metadata"]["name"]: pod.get("status") for pod in pods}
        raise TimeoutError(f"{error}; count {count(scene, workload)}, pods {said}") from error
    return pods_of_workload(scene, workload)


def until_places(scene: Scene, job: Manifest, nodes: Iterable[str]) -> Manifest:
    """Wait until a job's status says that its replicas are on these nodes; the status."""
    wanted = sorted(nodes)

    def is_so() -> Manifest | None:
        status = scene.status(job)
        placement: Manifest = status.get("placement") or {}
        places: list[Manifest] = placement.get("assignments", [])
        there = sorted(node for place in places for node in place["nodes"])
        return status if there == wanted else None

    try:
        found = wait_until(is_so, timeout_seconds=SECONDS, what=f"the job is on {wanted}")
    except TimeoutError as error:
        raise TimeoutError(f"{error}; it says {scene.status(job)}") from error
    assert found is not None
    return found
