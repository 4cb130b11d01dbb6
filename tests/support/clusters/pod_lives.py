"""What tests do to the pods of jobs, and what these say: KWOK plays the rest of a pod's life."""

from collections.abc import Iterable

from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import SECONDS, Scene

LABELS = "plimsoll.dev/"


def name_of(thing: Manifest) -> str:
    """The name of an object."""
    return thing["metadata"]["name"]


def label(pod: Manifest, key: str) -> str:
    """One of our labels, "" where a pod has it not."""
    return pod["metadata"].get("labels", {}).get(LABELS + key, "")


def uids(pods: Iterable[Manifest]) -> dict[str, str]:
    """Who pods are, by name; one that was made anew is another."""
    return {name_of(pod): pod["metadata"]["uid"] for pod in pods}


def environment(pod: Manifest) -> dict[str, str]:
    """The environment of a pod's first container."""
    return {each["name"]: each.get("value", "") for each in pod["spec"]["containers"][0]["env"]}


def wish(scene: Scene, pod: Manifest, **wishes: str) -> None:
    """Ask KWOK for something: `run_seconds="1"` is the annotation plimsoll.dev/test-run-seconds."""
    notes = {f"{LABELS}test-{wish.replace('_', '-')}": value for wish, value in wishes.items()}
    scene.api.merge(scene.path("Pod", name_of(pod)), {"metadata": {"annotations": notes}})


def fail(scene: Scene, pod: Manifest) -> None:
    """Let a running pod fail with exit code 1."""
    wish(scene, pod, run_seconds="0", exit="Failed")


def until_gone(scene: Scene, *jobs: Manifest) -> None:
    """Wait until jobs have no pods."""
    for job in jobs:
        wait_until(
            lambda job=job: not scene.pods_of(job),
            timeout_seconds=SECONDS,
            what=f"{name_of(job)} has no pods",
        )


def scale(scene: Scene, job: Manifest, replicas: int) -> None:
    """Set a job's size the way an autoscaler does."""
    path = scene.path(job["kind"], name_of(job))
    scene.api.merge(f"{path}/scale", {"spec": {"replicas": replicas}})


def condition(status: Manifest, kind: str) -> Manifest:
    """A condition in full; empty where there is none."""
    found: list[Manifest] = status.get("conditions", [])
    return next((each for each in found if each["type"] == kind), Manifest())
