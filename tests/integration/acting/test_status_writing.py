"""A status is written over what it was worked out from, whatever else of a job was edited."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plimsoll.acting.step import Step
from plimsoll.acting.writes.status import StatusWriter
from plimsoll.api.kinds import JobStatus
from plimsoll.errors import Conflict
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import endpoint
from plimsoll.observe.snapshot import JobView
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.manifest import Manifest
from support.clusters.scene import Scene
from support.clusters.seen import seen
from support.objects.job_manifests import a_training_job
from support.programs.asynchronous import asynchronous

HELD: Manifest = {"metadata": {"finalizers": ["example.com/held"]}}
WAITS: Manifest = {"message": "waits"}


class Heard:
    """A listener: it keeps what it hears, and does something as soon as it hears of the job."""

    def __init__(self, at_once: Callable[[], None] = lambda: None) -> None:
        self.read: list[dict[str, Any]] = []
        self.versions: list[str] = []
        self._at_once = at_once

    def read_job(self, raw: dict[str, Any]) -> None:
        self.read.append(raw)
        if len(self.read) == 1:
            self._at_once()

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        self.versions.append(f"{job.name}: {status.message} in {version}")


@pytest.fixture
def scene(api: ApiServer, namespace: str) -> Scene:
    """A namespace for which nobody acts."""
    return Scene(api, namespace)


def a_report(scene: Scene, *, create: tuple[Manifest, ...] = ()) -> Step:
    """A step that reports something new to the job, as it is now."""
    (view,) = seen(job_of(scene)).jobs
    return Step(view, view.status_written.model_copy(update=WAITS), create=create)


def job_of(scene: Scene) -> Manifest:
    return scene.api.get(path_of(scene))


def path_of(scene: Scene) -> str:
    return scene.path("TrainingJob", "job")


def _without_version(job: Manifest) -> Manifest:
    """A job's metadata, without what each write changes."""
    left_out = ("resourceVersion", "managedFields")
    return {key: value for key, value in job["metadata"].items() if key not in left_out}


def _owned_of_spec(job: Manifest) -> list[object]:
    """What of a job's spec has an owner."""
    entries = job["metadata"]["managedFields"]
    return [each["fieldsV1"]["f:spec"] for each in entries if "f:spec" in each["fieldsV1"]]


async def written(
    cluster: Cluster, step: Step, at_once: Callable[[], None] = lambda: None
) -> Heard:
    heard = Heard(at_once)
    async with KubeClient.to(endpoint(Path(cluster.kubeconfig))) as client:
        await StatusWriter(client, heard).write(step)
    return heard


def edited(scene: Scene) -> None:
    scene.api.merge(path_of(scene), {"metadata": {"annotations": {"example.com/a": "b"}}})


def suspended(scene: Scene) -> None:
    scene.api.merge(path_of(scene), {"spec": {"suspend": True}})


def said_something_else(scene: Scene) -> None:
    scene.api.merge(f"{path_of(scene)}/status", {"status": {"message": "runs"}})


def being_deleted(scene: Scene) -> None:
    scene.api.merge(path_of(scene), HELD)
    scene.api.delete(path_of(scene))


def made_anew(scene: Scene) -> None:
    scene.api.delete(path_of(scene))
    scene.apply(a_training_job("job"))


@asynchronous
async def test_a_report_leaves_all_else_of_a_job_alone(
    control_plane: Cluster, scene: Scene
) -> None:
    scene.apply(a_training_job("job"))
    edited(scene)
    before = job_of(scene)
    heard = await written(control_plane, a_report(scene))
    now = job_of(scene)
    assert now["status"].items() >= WAITS.items()
    assert now["spec"] == before["spec"]
    assert _without_version(now) == _without_version(before)
    owned = _owned_of_spec(before)
    assert owned
    assert _owned_of_spec(now) == owned
    name = f"TrainingJob/{before['metadata']['namespace']}/job"
    assert heard.versions == [f"{name}: waits in {now['metadata']['resourceVersion']}"]


@pytest.mark.parametrize("change", [edited, suspended])
@pytest.mark.parametrize(
    "before", [None, {}, {"message": "runs", "nodesSummary": "n", "restarts": 2}]
)
@asynchronous
async def test_a_report_is_written_beside_edits(
    control_plane: Cluster, scene: Scene, change: Callable[[Scene], None], before: Manifest | None
) -> None:
    scene.apply(a_training_job("job"))
    if before is not None:
        scene.api.merge(f"{path_of(scene)}/status", {"status": before})
    step = a_report(scene)
    change(scene)
    heard = await written(control_plane, step)
    now = job_of(scene)
    assert now["status"].items() >= {**(before or {}), **WAITS}.items()
    assert heard.read[-1] == now
    assert not heard.versions, "it is in no version of the job that was known"


@pytest.mark.parametrize("change", [said_something_else, being_deleted, made_anew])
@asynchronous
async def test_over_what_it_was_not_worked_out_from_no_status_is_written(
    control_plane: Cluster, scene: Scene, change: Callable[[Scene], None]
) -> None:
    scene.apply(a_training_job("job"))
    step = a_report(scene)
    change(scene)
    before = job_of(scene)
    try:
        with pytest.raises(Conflict):
            await written(control_plane, step)
        assert job_of(scene) == before
    finally:
        scene.api.merge(path_of(scene), {"metadata": {"finalizers": None}})


@asynchronous
async def test_no_pods_are_made_by_a_spec_that_has_changed(
    control_plane: Cluster, scene: Scene
) -> None:
    scene.apply(a_training_job("job"))
    step = a_report(scene, create=({"kind": "Pod"},))
    suspended(scene)
    with pytest.raises(Conflict):
        await written(control_plane, step)
    assert "status" not in job_of(scene)


@asynchronous
async def test_a_report_is_written_though_the_job_is_edited_once_more(
    control_plane: Cluster, scene: Scene
) -> None:
    scene.apply(a_training_job("job"))
    step = a_report(scene)
    edited(scene)
    heard = await written(control_plane, step, lambda: suspended(scene))
    now = job_of(scene)
    assert (now["status"]["message"], now["spec"]["suspend"]) == ("waits", True)
    assert heard.read[-1] == now, "the edit is heard, too"


@pytest.mark.parametrize("change", [suspended, said_something_else, made_anew])
@asynchronous
async def test_what_changes_in_the_last_moment_is_not_written_over(
    control_plane: Cluster, scene: Scene, change: Callable[[Scene], None]
) -> None:
    scene.apply(a_training_job("job"))
    step = a_report(scene, create=({"kind": "Pod"},))
    edited(scene)
    with pytest.raises(Conflict):
        await written(control_plane, step, lambda: change(scene))
    assert job_of(scene).get("status", {}).get("message") != "waits"
