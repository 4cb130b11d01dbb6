"""A real API server knows pod templates as it knows pods, and is patient with what was there."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from manifests import Manifest, edited, training_job
from plimsoll.api.crds import crd
from plimsoll.api.training_job import TrainingJob
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.crds import DEFINITIONS
from plimsoll_devcluster.versions import KUBERNETES
from plimsoll_devcluster.waiting import wait_until
from previous_version import definitions

ROOT: Final = Path(__file__).parents[2]
T: Final = "spec.workers.template"
C: Final = f"{T}.spec.containers.0"
DRY_RUN: Final = "?dryRun=All&fieldValidation=Strict"
PATIENCE: Final = 30


def jobs(namespace: str) -> str:
    return f"/apis/plimsoll.dev/v1alpha1/namespaces/{namespace}/trainingjobs"


def test_the_schema_is_that_of_the_control_plane(api: ApiServer) -> None:
    version = api.get("/version")["gitVersion"].removeprefix("v").partition("+")[0]
    if version != KUBERNETES:
        pytest.skip(f"the given cluster is of version {version}")
    document = api.text("/openapi/v3/api/v1")
    program = (sys.executable, ROOT / "hack" / "pod_template.py")
    made = subprocess.run(program, input=document, capture_output=True, text=True, check=True)
    there = ROOT / "operator" / "plimsoll" / "api" / "pod_template.json"
    assert there.read_text() == made.stdout, "run hack/pod_template.py as it says, and `make crds`"


def test_fields_of_a_newer_kubernetes_are_kept(api: ApiServer, namespace: str) -> None:
    newer = {"a": [{"b": 1.5}], "c": {}}
    places = (f"{T}.spec.newer", f"{C}.newer", f"{T}.metadata.newer")
    places += (f"{C}.securityContext", f"{T}.spec.topologySpreadConstraints")
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "InSomeNewWay"}
    values = (newer, newer, newer, {"newer": newer}, [{**spread, "newer": newer}])
    job = edited(training_job(), dict(zip(places, values, strict=True)))
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
    """The definition of TrainingJobs from the version before, until it is upgraded."""
    define(api, definitions()["TrainingJob"])
    wait_until(
        lambda: takes_any_environment(api, namespace),
        timeout_seconds=PATIENCE,
        what="the definition of the version before is in force",
    )
    yield
    upgrade(api, namespace)


def define(api: ApiServer, definition: Manifest) -> None:
    api.apply(f"{DEFINITIONS}/{definition['metadata']['name']}", definition)


def upgrade(api: ApiServer, namespace: str) -> None:
    define(api, crd(TrainingJob))
    wait_until(
        lambda: not takes_any_environment(api, namespace),
        timeout_seconds=PATIENCE,
        what="the definition of this version is in force",
    )


def takes_any_environment(api: ApiServer, namespace: str) -> bool:
    wrong = edited(training_job(), {"metadata.name": "probe", f"{C}.env": 7})
    try:
        api.create(jobs(namespace) + DRY_RUN, wrong)
    except ApiServerRefusedError:
        return False
    return True


LOOSE: Final = {
    f"{C}.env": 7,
    f"{C}.ports": [{"containerPort": 80}, {"containerPort": 80}],
    f"{T}.spec.priority": "high",
    f"{T}.spec.volumes": "none",
    f"{T}.spec.schedulingGates": "x",
    f"{T}.spec.resources": {"requests": {"cpu": 0.5}},
}


@pytest.mark.usefixtures("old_definitions")
@pytest.mark.parametrize("place", LOOSE)
def test_a_status_is_written_to_what_is_refused_today(
    api: ApiServer, namespace: str, place: str
) -> None:
    path = f"{jobs(namespace)}/train"
    api.create(jobs(namespace), edited(training_job(), {place: LOOSE[place]}))
    upgrade(api, namespace)
    api.merge(f"{path}/status", {"status": {"workerCount": 7, "reason": "InvalidSpec"}})
    assert api.get(path)["status"] == {"workerCount": 7, "reason": "InvalidSpec"}
    api.merge(path, {"metadata": {"labels": {"a": "b"}}, "spec": {"suspend": True}})
    api.replace(path, edited(api.get(path), {f"{T}.spec.containers": _right()}))
    api.delete(path)


def _right() -> list[Manifest]:
    return training_job()["spec"]["workers"]["template"]["spec"]["containers"]
