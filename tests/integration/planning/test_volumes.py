"""A job with a claim on storage of a zone runs there, and nowhere is tried in vain."""

from collections.abc import Iterator

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.scene import Scene
from support.objects.job_manifests import a_pool, a_training_job
from support.objects.volumes import ZONE, a_template_with_claims, a_volume

VOLUMES = "/api/v1/persistentvolumes"
UNPROTECTED = {"metadata": {"finalizers": None}}
"""Who protects volumes in use may be away, and then nobody would take its finalizers away."""


@pytest.fixture
def claim(scene: Scene) -> Iterator[str]:
    """A claim whose volume is in zone b."""
    volume, claims = f"disk-{scene.namespace}", f"/api/v1/namespaces/{scene.namespace}"
    place, name = f"{claims}/persistentvolumeclaims/data", "data"
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "volumeName": volume,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    made = scene.api.create(
        f"{claims}/persistentvolumeclaims",
        {"metadata": {"name": name, "annotations": bound}, "spec": spec},
    )
    disk = a_volume(volume, scene.namespace, name, values=["b"])
    disk["spec"]["claimRef"]["uid"] = made["metadata"]["uid"]
    scene.api.create(VOLUMES, disk)
    for path in (place, f"{VOLUMES}/{volume}"):
        scene.api.merge(f"{path}/status", {"status": {"phase": "Bound"}})
    yield name
    for path in (place, f"{VOLUMES}/{volume}"):
        scene.api.merge(path, UNPROTECTED)
        scene.api.delete(path)


def test_a_job_runs_where_the_storage_of_its_claim_is(scene: Scene, claim: str) -> None:
    zones = {"a": "1", "b": "2"}
    scene.add_nodes(*(fake_node(zone, gpus=1, labels={ZONE: zone}) for zone in zones))
    for zone, price in zones.items():
        scene.apply(a_pool(zone, {ZONE: zone}, pricePerGPUHour=price))
    job = a_training_job("train", template=a_template_with_claims(claim))
    scene.apply(job)
    found = scene.running(job)
    assert found.nodes == ["b"], "not on a, which is cheaper"
    assert not found.status.get("avoidedNodes")
    second = a_training_job("second", template=a_template_with_claims(claim))
    scene.apply(second)
    said = scene.until(second, reason="InsufficientGPUs")["message"]
    gpu = "NVIDIA-H100-80GB-HBM3"
    assert said == f"needs 1 × {gpu}; none is free on the 1 of 2 nodes that it may use"
