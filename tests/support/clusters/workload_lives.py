"""What tests do to workloads that ask to be planned: make, suspend, resume and look at them."""

import copy

from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene, conditions
from support.objects.workloads import COLLECTIONS, REPLICA_SPECS

_NAME_LABELS = {
    "AppWrapper": "workload.codeflare.dev/appwrapper",
    "Job": "batch.kubernetes.io/job-name",
    "JobSet": "jobset.sigs.k8s.io/jobset-name",
    "RayCluster": "ray.io/cluster",
    "TrainJob": "jobset.sigs.k8s.io/jobset-name",  # its JobSet has its name
    **dict.fromkeys(REPLICA_SPECS, "training.kubeflow.org/job-name"),
}


def stand_in_of(workload: Manifest) -> Manifest:
    """The TrainingJob that stands for a workload, by its kind and name."""
    name = f"{workload['kind'].lower()}-{workload['metadata']['name']}"
    return {"kind": "TrainingJob", "metadata": {"name": name}}


def workload_path(scene: Scene, workload: Manifest) -> str:
    """Where a workload is."""
    collection = COLLECTIONS[workload["kind"]].format(scene.namespace)
    return f"{collection}/{workload['metadata']['name']}"


def create_workload(scene: Scene, workload: Manifest) -> None:
    """Create a workload in the scene's namespace, whichever it names."""
    manifest = copy.deepcopy(workload)
    manifest["metadata"].pop("namespace", None)
    scene.api.create(workload_path(scene, workload).rpartition("/")[0], manifest)


def stand_in_path(scene: Scene, workload: Manifest) -> str:
    """Where the TrainingJob that stands for a workload is."""
    return scene.path("TrainingJob", stand_in_of(workload)["metadata"]["name"])


def adopted(scene: Scene, workload: Manifest) -> Manifest:
    """Create a workload, and wait until a TrainingJob stands for it; that."""
    create_workload(scene, workload)
    until_stood_for(scene, workload)
    return stand_in_of(workload)


def until_stood_for(scene: Scene, workload: Manifest) -> None:
    """Wait until a TrainingJob stands for a workload."""
    wait_until(
        lambda: scene.api.exists(stand_in_path(scene, workload)),
        timeout_seconds=scene.patience_seconds,
        what=f"a TrainingJob stands for {workload['kind']} {workload['metadata']['name']}",
    )


def read_workload(scene: Scene, workload: Manifest) -> Manifest:
    """A workload as it is now."""
    return scene.api.get(workload_path(scene, workload))


def patch_workload(scene: Scene, workload: Manifest, patch: Manifest) -> None:
    """Change a workload, as kubectl patch does."""
    scene.api.merge(workload_path(scene, workload), patch)


def change_workload(scene: Scene, workload: Manifest, spec: Manifest) -> None:
    """Change some fields of a workload's spec."""
    patch_workload(scene, workload, {"spec": spec})


def suspension(workload: Manifest, *, suspended: bool) -> Manifest:
    """The part of a workload's spec that suspends or resumes it."""
    field = {"suspend": suspended}
    return {"runPolicy": field} if workload["kind"] in REPLICA_SPECS else field


def workload_pods(scene: Scene, workload: Manifest) -> list[Manifest]:
    """The pods that a workload's controller has made, by name."""
    name, pods = workload["metadata"]["name"], f"/api/v1/namespaces/{scene.namespace}/pods"
    if workload["kind"] == "RayJob":  # its RayClusters bear its name and a part of their own
        found = scene.api.items(f"{pods}?labelSelector=ray.io/cluster")
        labels = (pod["metadata"]["labels"]["ray.io/cluster"].rpartition("-") for pod in found)
        found = [pod for pod, (of, _, _) in zip(found, labels, strict=True) if of == name]
    else:
        found = scene.api.items(f"{pods}?labelSelector={_NAME_LABELS[workload['kind']]}={name}")
    return sorted(found, key=lambda pod: pod["metadata"]["name"])


def until_workload(scene: Scene, workload: Manifest, condition: str) -> Manifest:
    """Wait until a workload has a condition, or the status of that name; the workload."""

    def holds() -> Manifest | None:
        found = read_workload(scene, workload)
        status = found.get("status", {})
        if condition in (status.get("jobDeploymentStatus"), status.get("phase")):
            return found
        return found if conditions(status).get(condition) == "True" else None

    what = f"{workload['metadata']['name']} is {condition}"
    return wait_until(holds, timeout_seconds=scene.patience_seconds, what=what) or {}


def until_pods_run(scene: Scene, workload: Manifest, count: int) -> list[Manifest]:
    """Wait until so many pods of a workload run, and it has no others; the pods."""

    def run() -> list[Manifest] | None:
        pods = workload_pods(scene, workload)
        phases = [pod["status"].get("phase") for pod in pods]
        return pods if phases == ["Running"] * count else None

    what = f"{count} pods of {workload['metadata']['name']} run"
    return wait_until(run, timeout_seconds=scene.patience_seconds, what=what) or []


def until_no_pods(scene: Scene, workload: Manifest) -> None:
    """Wait until a workload has no pods."""
    what = f"{workload['metadata']['name']} has no pods"
    wait_until(
        lambda: not workload_pods(scene, workload),
        timeout_seconds=scene.patience_seconds,
        what=what,
    )


def until_size(scene: Scene, job: Manifest, workers: int) -> None:
    """Wait until a TrainingJob is placed with so many workers."""

    name = job["metadata"]["name"]
    collection = scene.path("TrainingJob", name).rpartition("/")[0]

    def has_size() -> bool:
        # It may be made anew just now, and then is in the list or not.
        jobs = [each for each in scene.api.items(collection) if each["metadata"]["name"] == name]
        placements: list[Manifest] = [each.get("status", {}).get("placement", {}) for each in jobs]
        return [each.get("workers") for each in placements] == [workers]

    wait_until(
        has_size, timeout_seconds=scene.patience_seconds, what=f"{name} has {workers} workers"
    )


def end(scene: Scene, pod: Manifest, *, failed: bool = False) -> None:
    """Let a pod that runs end."""
    said = {"plimsoll.dev/test-run-seconds": "0"}
    if failed:
        said["plimsoll.dev/test-exit"] = "Failed"
    patch = {"metadata": {"annotations": said}}
    scene.api.merge(scene.path("Pod", pod["metadata"]["name"]), patch)
