"""What tests do to batch/v1 Jobs that ask to be planned: they are made, resumed and looked at."""

import copy
from typing import Any

from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import SECONDS, Scene

GATE = "plimsoll.dev/placement"
QUEUE = "plimsoll.dev/queue"


def a_batch_job(  # noqa: PLR0913 - what differs between Jobs, by name
    name: str = "train",
    *,
    workers: int = 2,
    gpus: int = 1,
    queue: str | None = "default",
    annotations: dict[str, str] | None = None,
    held: bool = True,
    pod_annotations: dict[str, str] | None = None,
    pod: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a Job's spec
) -> Manifest:
    """An indexed Job that asks to be planned; `held`: as the admission policy makes it."""
    container: Manifest = {
        "name": "main",
        "image": "registry.example/train:1",
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
    }
    pod_spec: Manifest = {
        "containers": [container],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        **(pod or {}),
    }
    if held:
        pod_spec["schedulingGates"] = [{"name": GATE}]
    labels = {} if queue is None else {QUEUE: queue}
    said = {f"plimsoll.dev/{key}": value for key, value in (annotations or {}).items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels, "annotations": said},
        "spec": {
            "suspend": held,
            "parallelism": workers,
            "completions": workers,
            "completionMode": "Indexed",
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {"annotations": pod_annotations or {}},
                "spec": pod_spec,
            },
            **spec,
        },
    }


def stand_in(job: Manifest) -> Manifest:
    """The TrainingJob that stands for a Job, by its kind and name."""
    name = f"job-{job['metadata']['name']}"
    return {"kind": "TrainingJob", "metadata": {"name": name}}


def path_of(scene: Scene, job: Manifest) -> str:
    """Where a Job is."""
    return f"/apis/batch/v1/namespaces/{scene.namespace}/jobs/{job['metadata']['name']}"


def adopted(scene: Scene, *jobs: Manifest) -> Manifest:
    """Create Jobs, and wait until a TrainingJob stands for each; that of the last."""
    create(scene, *jobs)
    for job in jobs:
        name = stand_in(job)["metadata"]["name"]
        path = scene.path("TrainingJob", name)
        wait_until(
            lambda path=path: scene.api.exists(path),
            timeout_seconds=SECONDS,
            what=f"{name} stands for {job['metadata']['name']}",
        )
    return stand_in(jobs[-1])


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
