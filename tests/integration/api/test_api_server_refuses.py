"""A real API server takes what is right, and says of what is wrong where, and what to do."""

from pathlib import Path
from typing import Any

import pytest

from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.manifest import manifests_in
from support.objects.manifests import (
    GONE,
    Manifest,
    edited,
    gang_of_roles,
    inference_job,
    target_ref,
    training_job,
)
from support.objects.workloads import COLLECTIONS
from support.objects.wrong_manifests import WRONG, Wrong

ALL_EXAMPLES = sorted((Path(__file__).parents[3] / "examples").rglob("*.yaml"))
OF_KUBERNETES = {"job.yaml", "pod-group.yaml"}
OF_OTHERS = [
    file
    for file in ALL_EXAMPLES
    if file.parent.name == "workloads" and file.name not in OF_KUBERNETES
]
"""Those whose kinds other controllers define."""
EXAMPLES = [file for file in ALL_EXAMPLES if file not in OF_OTHERS]
DRY_RUN = "?dryRun=All&fieldValidation=Strict"
CORE = {
    "Node": "/api/v1/nodes",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "Job": "/apis/batch/v1/namespaces/{namespace}/jobs",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "PodGroup": "/apis/scheduling.k8s.io/v1alpha2/namespaces/{namespace}/podgroups",
    "Service": "/api/v1/namespaces/{namespace}/services",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
}


def collection(manifest: Manifest, namespace: str) -> str:
    if manifest["kind"] in CORE:
        return CORE[manifest["kind"]].format(namespace=namespace)
    definition = KIND_BY_NAME[manifest["kind"]].definition
    scope = f"namespaces/{namespace}/" if definition.namespaced else ""
    return f"/apis/plimsoll.dev/v1alpha1/{scope}{definition.plural}"


def created(api: ApiServer, namespace: str, manifest: Manifest) -> str:
    """Create the object and return its path."""
    path = collection(manifest, namespace)
    api.create(path, manifest)
    return f"{path}/{manifest['metadata']['name']}"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_every_example_is_accepted(api: ApiServer, namespace: str, file: Path) -> None:
    for manifest in manifests_in(file.read_text()):
        api.create(collection(manifest, namespace) + DRY_RUN, manifest)


@pytest.mark.slow
@pytest.mark.usefixtures("all_controllers")
@pytest.mark.parametrize("file", OF_OTHERS, ids=lambda file: file.name)
def test_every_example_of_other_controllers_is_accepted(
    api: ApiServer, namespace: str, file: Path
) -> None:
    for manifest in manifests_in(file.read_text()):
        api.create(COLLECTIONS[manifest["kind"]].format(namespace) + DRY_RUN, manifest)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.claim)
def test_what_is_wrong_is_refused_with_the_field_and_the_remedy(
    control_plane: Cluster, wrong: Wrong
) -> None:
    with pytest.raises(ApiServerRefusedError) as refusal:
        control_plane.api.create(collection(wrong.manifest, "default") + DRY_RUN, wrong.manifest)
    said = str(refusal.value)
    assert f"{wrong.field}: " in said or f"{wrong.field} {wrong.remedy}" in said
    assert wrong.remedy in said


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.claim)
def test_the_manifest_that_a_wrong_one_was_made_from_is_accepted(
    control_plane: Cluster, wrong: Wrong
) -> None:
    api = control_plane.api
    api.create(collection(wrong.base(), "default") + DRY_RUN, wrong.base())


def test_a_misspelt_field_is_refused_by_name(api: ApiServer) -> None:
    manifest = edited(training_job(), {"spec.workers.maximum": 4})
    with pytest.raises(ApiServerRefusedError, match=r'unknown field "spec\.workers\.maximum"'):
        api.create(collection(manifest, "default") + DRY_RUN, manifest)


TEMPLATE = "spec.workers.template"
CONTAINER = f"{TEMPLATE}.spec.containers.0"
TARGETED = edited(inference_job(), {"spec.targetRef": target_ref(), "spec.roles": GONE})
FIXED: list[tuple[Manifest, dict[str, Any], str]] = [
    (training_job(), {"spec.queue": "other"}, "spec.queue"),
    (training_job(), {"spec.workers.gpusPerWorker": 2}, "spec.workers.gpusPerWorker"),
    (training_job(), {"spec.batch": {"size": 8}}, "spec.batch"),
    (gang_of_roles(), {"spec.roles.1.replicas.max": 3}, "spec.roles"),
    (gang_of_roles(), {"spec.roles.0.template.spec.containers.0.image": "main:2"}, "spec.roles"),
    (gang_of_roles(), {"spec.roles": [], "spec.successPolicy.role": "worker"}, "spec.roles"),
    (training_job(), {f"{CONTAINER}.image": "main:2"}, TEMPLATE),
    (training_job(), {f"{CONTAINER}.command": ["other"]}, TEMPLATE),
    (training_job(), {f"{CONTAINER}.env": [{"name": "A", "value": "2"}]}, TEMPLATE),
    (training_job(), {f"{TEMPLATE}.spec.hostIPC": False}, TEMPLATE),
    (training_job(), {f"{TEMPLATE}.spec.dnsPolicy": "Default"}, TEMPLATE),
    (inference_job(), {"spec.queue": "other"}, "spec.queue"),
    (TARGETED, {"spec.targetRef.name": "other"}, "spec.targetRef"),
]
UNTYPED = {
    f"{CONTAINER}.command": ["one"],
    f"{CONTAINER}.env": [{"name": "A", "value": "1"}],
    f"{TEMPLATE}.spec.hostIPC": True,
}


def with_untyped_fields(manifest: Manifest) -> Manifest:
    return edited(manifest, UNTYPED) if manifest["kind"] == "TrainingJob" else manifest


@pytest.mark.parametrize(("base", "edits", "field"), FIXED, ids=lambda value: str(value)[:40])
def test_what_is_fixed_changes_only_while_the_job_is_suspended(
    api: ApiServer, namespace: str, base: Manifest, edits: dict[str, Any], field: str
) -> None:
    path = created(api, namespace, with_untyped_fields(base))
    changed = edited(api.get(path), edits)
    with pytest.raises(ApiServerRefusedError) as refusal:
        api.replace(path, changed)
    remedy = "can change only while the job is suspended: set suspend to true first"
    assert f"{field}: Invalid value: {remedy}" in str(refusal.value)
    api.merge(path, {"spec": {"suspend": True}})
    api.replace(path, edited(api.get(path), edits))
    api.merge(path, {"spec": {"suspend": False}})


CHANGEABLE: list[tuple[Manifest, dict[str, Any]]] = [
    (training_job(), {"spec.workers.min": 1, "spec.workers.max": 8}),
    (training_job(), {"spec.priorityClassName": "urgent"}),
    (gang_of_roles(), {"spec.priorityClassName": "urgent"}),
    (training_job(), {"spec.accelerators.0.throughput.0.rate": 3}),
    (inference_job(), {"spec.roles.0.template.spec.containers.0.image": "main:2"}),
    (inference_job(), {"spec.roles.0.replicas.max": 9}),
]


@pytest.mark.parametrize(("base", "edits"), CHANGEABLE, ids=lambda value: str(value)[:40])
def test_the_rest_changes_while_the_job_runs(
    api: ApiServer, namespace: str, base: Manifest, edits: dict[str, Any]
) -> None:
    path = created(api, namespace, base)
    changed = api.replace(path, edited(api.get(path), edits))
    assert changed["metadata"]["generation"] == 2


def test_what_is_left_out_of_a_training_job_is_filled_in(api: ApiServer, namespace: str) -> None:
    spec = api.get(created(api, namespace, training_job()))["spec"]
    model = KIND_BY_NAME["TrainingJob"].model_validate(training_job())
    filled = model.wire()["spec"]
    assert isinstance(filled, dict)
    for name in ("queue", "suspend", "checkpoint", "spot", "disruption", "faultTolerance"):
        assert spec[name] == filled[name]


def test_scale_reads_and_writes_the_count_and_gives_the_selector(
    api: ApiServer, namespace: str
) -> None:
    path = created(api, namespace, inference_job())
    api.merge(f"{path}/status", {"status": {"replicas": 2, "selector": "plimsoll.dev/role=server"}})
    api.merge(f"{path}/scale", {"spec": {"replicas": 3}})
    scale = api.get(f"{path}/scale")
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "plimsoll.dev/role=server"}
    with pytest.raises(ApiServerRefusedError, match="widen these first"):
        api.merge(f"{path}/scale", {"spec": {"replicas": 4}})


def test_scale_of_a_training_job_sets_its_least_count(api: ApiServer, namespace: str) -> None:
    path = created(api, namespace, training_job())
    api.merge(f"{path}/scale", {"spec": {"replicas": 3}})
    assert api.get(path)["spec"]["workers"]["min"] == 3


def test_a_status_is_written_only_through_its_subresource(api: ApiServer, namespace: str) -> None:
    path = created(api, namespace, training_job())
    api.merge(path, {"status": {"workerCount": 7}})
    assert "status" not in api.get(path)
    api.merge(f"{path}/status", {"status": {"workerCount": 7}, "spec": {"suspend": True}})
    assert api.get(path)["status"] == {"workerCount": 7}
    assert api.get(path)["spec"]["suspend"] is False


def test_jobs_can_be_selected_by_their_queue(api: ApiServer, namespace: str) -> None:
    created(api, namespace, training_job())
    other = edited(training_job(), {"metadata.name": "other", "spec.queue": "research"})
    path = created(api, namespace, other).rsplit("/", 1)[0]
    found = api.items(f"{path}?fieldSelector=spec.queue%3Dresearch")
    assert [item["metadata"]["name"] for item in found] == ["other"]
