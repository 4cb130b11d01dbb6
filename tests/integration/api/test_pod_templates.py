"""A real API server knows pod templates as it knows pods, and is patient with what was there."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.schema.crds import crd
from plimsoll.api.training_job import TrainingJob
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.crds import DEFINITIONS
from plimsoll_devcluster.programs.versions import KUBERNETES
from plimsoll_devcluster.waiting import wait_until
from support.objects.manifests import Manifest, edited, inference_job, training_job
from support.objects.previous_version import definitions
from support.project.tiers import quick_first

ROOT: Final = Path(__file__).parents[3]
T: Final = "spec.workers.template"
C: Final = f"{T}.spec.containers.0"
DRY_RUN: Final = "?dryRun=All&fieldValidation=Strict"
PATIENCE: Final = 30


JOBS: Final = {
    "TrainingJob": (training_job, T),
    "InferenceJob": (inference_job, "spec.roles.0.template"),
}


def jobs(namespace: str, kind: str = "TrainingJob") -> str:
    plural = KIND_BY_NAME[kind].definition.plural
    return f"/apis/plimsoll.dev/v1alpha1/namespaces/{namespace}/{plural}"


def test_the_schema_is_that_of_the_control_plane(api: ApiServer) -> None:
    version = api.get("/version")["gitVersion"].removeprefix("v").partition("+")[0]
    if version != KUBERNETES:
        pytest.skip(f"the given cluster is of version {version}")
    document = api.text("/openapi/v3/api/v1")
    program = (sys.executable, ROOT / "hack" / "pod_template.py")
    made = subprocess.run(program, input=document, capture_output=True, text=True, check=True)
    there = ROOT / "operator" / "plimsoll" / "api" / "templates" / "pod_template.json"
    assert there.read_text() == made.stdout, "run hack/pod_template.py as it says, and `make crds`"


def test_fields_of_a_newer_kubernetes_are_kept(api: ApiServer, namespace: str) -> None:
    newer: Manifest = {"a": [{"b": 1.5}], "c": {}}
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "InSomeNewWay"}
    edits: Manifest = {
        f"{T}.metadata.newer": newer,
        f"{T}.spec.newer": newer,
        f"{T}.spec.topologySpreadConstraints": [{**spread, "newer": newer}],
        f"{C}.newer": newer,
        f"{C}.securityContext": {"newer": newer},
    }
    job = edited(training_job(), edits)
    api.create(jobs(namespace), job)
    kept = api.get(f"{jobs(namespace)}/train")["spec"]["workers"]["template"]
    assert kept == job["spec"]["workers"]["template"]
    model = TrainingJob.model_validate(job)
    assert model.spec.workers.template.wire() == kept


@pytest.mark.parametrize(
    "edits",
    [
        {f"{C}.env": None, f"{T}.spec.volumes": None, f"{T}.spec.dnsPolicy": None},
        {f"{T}.metadata": {"creationTimestamp": None}},
        {f"{C}.livenessProbe": {"httpGet": {"port": "web", "path": "/"}}},
        {f"{C}.livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 5}},
        {f"{T}.spec.volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1e1000"}}]},
        {f"{T}.spec.volumes": [{"name": "a", "emptyDir": {"sizeLimit": 5}}]},
        {f"{T}.spec.resources": {"requests": {"cpu": "0.5"}, "limits": {"memory": "8Ei"}}},
        {f"{C}.resources": {"requests": {"memory": "1e1000", "cpu": "Gi"}}},
        {f"{T}.spec.securityContext": {"runAsUser": 1000}},
    ],
    ids=lambda edits: next(iter(edits)),
)
def test_what_is_taken_for_a_pod_is_taken_for_a_template(
    api: ApiServer, namespace: str, edits: dict[str, Any]
) -> None:
    job = edited(training_job(), edits)
    api.create(jobs(namespace) + DRY_RUN, job)
    template = job["spec"]["workers"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": template["spec"]}
    api.create(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)


def an_intent(**container: Any) -> Manifest:  # noqa: ANN401 - fields of a container
    """What one manager of fields wishes for."""
    job = edited(training_job(), {"spec.suspend": True})
    job["spec"]["workers"]["template"]["spec"]["containers"][0] |= container
    return job


def test_what_two_managers_apply_is_merged_as_in_pods(api: ApiServer, namespace: str) -> None:
    path = f"{jobs(namespace)}/train"
    port = {"containerPort": 80}
    first = an_intent(env=[{"name": "A", "value": "1"}], ports=[port], command=["first"])
    second = an_intent(
        env=[{"name": "B", "value": "2"}],
        ports=[{**port, "protocol": "UDP"}],
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
    )
    api.apply(path, first, manager="first")
    api.apply(path, second, manager="second")
    api.apply(path, edited(first, {f"{C}.env.0.value": "3"}), manager="first")
    (container,) = api.get(path)["spec"]["workers"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]
    assert container["ports"] == [{**port, "protocol": "TCP"}, {**port, "protocol": "UDP"}]
    assert container["command"] == ["first"]
    api.apply(path, an_intent(), manager="second")
    (container,) = api.get(path)["spec"]["workers"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "A", "value": "3"}]
    assert "volumeMounts" not in container


@pytest.fixture
def old_definitions(api: ApiServer, namespace: str) -> Iterator[None]:
    """The definitions of jobs from the version before, until they are upgraded."""
    for definition in (definitions()[kind] for kind in JOBS):
        define(api, definition)
    wait_until(
        lambda: all(takes_any_environment(api, namespace, kind) for kind in JOBS),
        timeout_seconds=PATIENCE,
        what="the definitions of the version before are in force",
    )
    yield
    upgrade(api, namespace)


def define(api: ApiServer, definition: Manifest) -> None:
    api.apply(f"{DEFINITIONS}/{definition['metadata']['name']}", definition)


def upgrade(api: ApiServer, namespace: str) -> None:
    for kind in JOBS:
        define(api, crd(KIND_BY_NAME[kind]))
    wait_until(
        lambda: not any(takes_any_environment(api, namespace, kind) for kind in JOBS),
        timeout_seconds=PATIENCE,
        what="the definitions of this version are in force",
    )


def takes_any_environment(api: ApiServer, namespace: str, kind: str) -> bool:
    job = loose(kind, "containers.0.env", 7)
    try:
        api.create(jobs(namespace, kind) + DRY_RUN, job)
    except ApiServerRefusedError:
        return False
    return True


def loose(kind: str, field: str, value: object) -> Manifest:
    """A job with any value in a field of its pods' spec."""
    base, template = JOBS[kind]
    return edited(base(), {f"{template}.spec.{field}": value})


LOOSE: Final = {
    "containers.0.env": 7,
    "containers.0.ports": [{"containerPort": 80}, {"containerPort": 80}],
    "containers.0.resources": {"requests": {"cpu": "-1"}},
    "priority": "high",
    "volumes": "none",
    "schedulingGates": "x",
    "resources": {"requests": {"cpu": 0.5}},
}


@pytest.mark.usefixtures("old_definitions")
@pytest.mark.parametrize("kind", JOBS)
@pytest.mark.parametrize("field", quick_first(LOOSE))
def test_to_a_job_that_is_refused_today_a_status_is_written_and_it_can_be_mended(
    api: ApiServer, namespace: str, kind: str, field: str
) -> None:
    job = loose(kind, field, LOOSE[field])
    path = f"{jobs(namespace, kind)}/{job['metadata']['name']}"
    api.create(jobs(namespace, kind), job)
    upgrade(api, namespace)
    for reason in ("InvalidSpec", "Suspended"):
        api.merge(f"{path}/status", {"status": {"reason": reason}})
        assert api.get(path)["status"] == {"reason": reason}
    api.merge(path, {"metadata": {"labels": {"a": "b"}}, "spec": {"suspend": True}})
    mended = edited(JOBS[kind][0](), {"spec.suspend": True})
    mended["metadata"] |= {"resourceVersion": api.get(path)["metadata"]["resourceVersion"]}
    api.replace(path, mended)
    assert api.get(path)["status"] == {"reason": "Suspended"}


def test_behind_a_status_no_template_changes(api: ApiServer, namespace: str) -> None:
    path = f"{jobs(namespace)}/train"
    api.create(jobs(namespace), training_job())
    changed = edited(api.get(path), {f"{C}.image": "main:2", "status": {"reason": "InvalidSpec"}})
    with pytest.raises(ApiServerRefusedError, match="can change only while the job is suspended"):
        api.replace(path, changed)
    api.replace(f"{path}/status", changed)
    kept = api.get(path)
    assert kept["status"] == {"reason": "InvalidSpec"}
    assert kept["spec"]["workers"]["template"]["spec"]["containers"][0]["image"] == "main:1"
