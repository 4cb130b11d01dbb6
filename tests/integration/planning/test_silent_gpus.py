"""What runs goes on while a node says nothing of its GPUs: its plugin or its labels are away."""

import pytest

from plimsoll_devcluster.fake_nodes import NODES, fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.scene import Scene
from support.clusters.target_lives import a_targeting_job, a_workload, make, until_ready
from support.objects.job_manifests import a_training_job, an_inference_job

GPU, GPUS = "nvidia.com/gpu", 5


@pytest.fixture
def running(scene: Scene) -> tuple[Manifest, Manifest]:
    """A gang and a service on three of a node's GPUs."""
    scene.add_nodes(fake_node("node", gpus=GPUS))
    gang = a_training_job("gang", workers=2, rates={H100: 1})
    serves = an_inference_job("serves", replicas=1)
    scene.apply(gang, serves)
    scene.running(gang)
    scene.running(serves)
    return gang, serves


def test_what_runs_goes_on_while_the_device_plugin_is_away(
    scene: Scene, running: tuple[Manifest, Manifest]
) -> None:
    before = [scene.running(job).uids for job in running]
    scene.api.merge(f"{NODES}/node/status", {"status": {"allocatable": {GPU: "0"}}})
    later = a_training_job("later", rates={H100: 1})
    scene.apply(later)
    message = scene.until(later, reason="InsufficientGPUs")["message"]
    assert message == f"needs 1 × {H100}; none is free"
    assert [scene.running(job).uids for job in running] == before
    scene.api.merge(f"{NODES}/node/status", {"status": {"allocatable": {GPU: str(GPUS)}}})
    scene.running(later)
    assert [scene.running(job).uids for job in running] == before


def test_what_runs_goes_on_while_labels_are_written_anew(
    scene: Scene, running: tuple[Manifest, Manifest]
) -> None:
    before = [scene.running(job).uids for job in running]
    labels = scene.api.get(f"{NODES}/node")["metadata"]["labels"]
    gone = {name: None for name in labels if name.startswith("nvidia.com/")}
    web = a_workload()
    make(scene, web)
    serves = a_targeting_job(target=web, bounds=(1, 1))
    scene.apply(serves)
    [pod] = until_ready(scene, web, 1)
    scene.until(serves, reason="Running")
    scene.node("node", {"metadata": {"labels": gone}})
    later = a_training_job("later", rates={H100: 1})
    scene.apply(later)
    assert scene.running(later).nodes == ["node"], "whose GPUs are what they were"
    assert scene.status(serves)["reason"] == "Running"
    assert until_ready(scene, web, 1)[0]["metadata"]["uid"] == pod["metadata"]["uid"]
    assert [scene.running(job).uids for job in running] == before
