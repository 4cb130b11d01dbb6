"""What tests do to batch/v1 Jobs that ask to be planned: they are made, resumed and looked at."""

import copy

from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import SECONDS, Scene


def stand_in(job: Manifest) -> Manifest:
    """The TrainingJob that stands for a Job, by its kind and name."""
    name = f"job-{job['metadata']['name']}"
    return {"kind": "TrainingJob", "metadata": {"name": name}}


def path_of(scene: Scene, job: Manifest) -> str:
    """Where a Job is."""
    return f"/apis/batch/v1/namespaces/{scene.namespace}/jobs/{job['metadata']['name']}"


def stand_in_path(scene: Scene, job: Manifest) -> str:
    """Where the TrainingJob that stands for a Job is."""
    return scene.path("TrainingJob", stand_in(job)["metadata"]["name"])


def adopted(scene: Scene, job: Manifest) -> Manifest:
    """Create a Job, and wait until a TrainingJob stands for it; that."""
    create(scene, job)
    until_stood_for(scene, job)
    return stand_in(job)


def until_stood_for(scene: Scene, job: Manifest) -> None:
    """Wait until a TrainingJob stands for a Job."""
    wait_until(
        lambda: scene.api.exists(stand_in_path(scene, job)),
        timeout_seconds=SECONDS,
        what=f"a TrainingJob stands for {job['metadata']['name']}",
    )


def create(scene: Scene, *jobs: Manifest) -> None:
    """Create Jobs, as kubectl create does."""
    for job in jobs:
        scene.api.create(path_of(scene, job).rpartition("/")[0], copy.deepcopy(job))


def there(scene: Scene, job: Manifest) -> Manifest:
    """A Job as it is now."""
    return scene.api.get(path_of(scene, job))


def change(scene: Scene, job: Manifest, patch: Manifest) -> None:
    """Change a Job, as kubectl patch does."""
    scene.api.merge(path_of(scene, job), patch)


def pods_made(scene: Scene, job: Manifest) -> list[Manifest]:
    """The pods that the Job's own controller has made, by number."""
    name = job["metadata"]["name"]
    query = f"labelSelector=batch.kubernetes.io/job-name={name}"
    found = scene.api.items(f"/api/v1/namespaces/{scene.namespace}/pods?{query}")
    return sorted(found, key=lambda pod: pod["metadata"]["name"])


def is_suspended(scene: Scene, job: Manifest) -> bool:
    """Whether a Job is suspended, and its controller has seen that."""
    found = there(scene, job)
    conditions = found.get("status", {}).get("conditions", [])
    holds = any(c["type"] == "Suspended" and c["status"] == "True" for c in conditions)
    return bool(found["spec"].get("suspend")) and holds


def until_suspended(scene: Scene, job: Manifest) -> None:
    """Wait until a Job is suspended and has no pods."""
    wait_until(
        lambda: is_suspended(scene, job) and not pods_made(scene, job),
        timeout_seconds=SECONDS,
        what=f"{job['metadata']['name']} is suspended",
    )


def until_condition(scene: Scene, job: Manifest, kind: str) -> Manifest:
    """Wait until a Job has a condition; the Job."""

    def holds() -> Manifest | None:
        found = there(scene, job)
        conditions = found.get("status", {}).get("conditions", [])
        has = any(c["type"] == kind and c["status"] == "True" for c in conditions)
        return found if has else None

    what = f"{job['metadata']['name']} is {kind}"
    return wait_until(holds, timeout_seconds=SECONDS, what=what) or {}


def until_size(scene: Scene, job: Manifest, workers: int) -> None:
    """Wait until a TrainingJob is placed with so many workers."""

    name = job["metadata"]["name"]
    collection = scene.path("TrainingJob", name).rpartition("/")[0]

    def has_size() -> bool:
        # It may be made anew just now, and then is in the list or not.
        jobs = [each for each in scene.api.items(collection) if each["metadata"]["name"] == name]
        placements: list[Manifest] = [each.get("status", {}).get("placement", {}) for each in jobs]
        return [each.get("workers") for each in placements] == [workers]

    wait_until(has_size, timeout_seconds=SECONDS, what=f"{name} has {workers} workers")


def until_let_go(scene: Scene, job: Manifest) -> None:
    """Wait until a Job may run without us, and nothing stands for it."""

    def is_free() -> bool:
        spec = there(scene, job)["spec"]
        gates = spec["template"]["spec"].get("schedulingGates")
        return not (spec["suspend"] or gates or scene.api.exists(stand_in_path(scene, job)))

    name = job["metadata"]["name"]
    wait_until(is_free, timeout_seconds=SECONDS, what=f"{name} is let go")


def until_other_pods(scene: Scene, job: Manifest, *, but: set[str]) -> list[Manifest]:
    """Wait until as many pods run as a Job wants, none of them one of these; the pods."""

    def are_there() -> list[Manifest] | None:
        running = [
            pod
            for pod in pods_made(scene, job)
            if pod.get("status", {}).get("phase") == "Running" and pod["metadata"]["uid"] not in but
        ]
        return running if len(running) == there(scene, job)["spec"]["parallelism"] else None

    what = f"other pods of {job['metadata']['name']} run"
    return wait_until(are_there, timeout_seconds=SECONDS, what=what) or []


def end(scene: Scene, pod: Manifest, *, failed: bool = False) -> None:
    """Let a pod that runs end."""
    said = {"plimsoll.dev/test-run-seconds": "0"}
    if failed:
        said["plimsoll.dev/test-exit"] = "Failed"
    patch = {"metadata": {"annotations": said}}
    scene.api.merge(scene.path("Pod", pod["metadata"]["name"]), patch)
