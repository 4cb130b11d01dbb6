"""Whatever stands in a template, it is refused when it is read, or pods are made of it."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from plimsoll.acting.jobs.gangs.training import training_step
from plimsoll.acting.jobs.services.inference import inference_step
from plimsoll.acting.pods.admission import DEFAULT_SCHEDULER, change_by_admission
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.api.refusal_text import why_refused
from plimsoll.kube.objects.objects import Pod
from plimsoll.observe.snapshot import JobView
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import at, pods_of, seen
from support.objects.job_manifests import a_training_job, an_inference_job

DEEPEST = 64
"""How deeply a template is nested that the API takes."""

PLACES = (
    (),
    ("metadata",),
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec",),
    ("spec", "containers", 0),
    ("spec", "containers", 0, "resources"),
    ("spec", "initContainers", 0),
    ("spec", "affinity"),
    ("spec", "affinity", "nodeAffinity"),
    ("spec", "tolerations", 0),
)
NAMES = (
    *("name", "namespace", "finalizers", "ownerReferences", "generateName", "creationTimestamp"),
    *("priority", "schedulingGates", "readinessGates", "volumes", "hostNetwork", "resources"),
    *("env", "envFrom", "volumeMounts", "args", "command", "ports", "livenessProbe", "claims"),
    *("restartPolicy", "overhead", "preferredDuringSchedulingIgnoredDuringExecution"),
    *("podAffinity", "ephemeralContainers", "terminationGracePeriodSeconds", "nodeAffinity"),
    *("plimsoll.dev/job-uid", "x" * 253),
)

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
_keys = st.sampled_from(("name", "mountPath", "limits", "requests", "cpu")) | st.text(max_size=4)
_json = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def nested(draw: st.DrawFn) -> Any:  # noqa: ANN401 - any JSON
    """Some JSON, deep within lists and objects."""
    value: Any = draw(_json)
    for _ in range(draw(st.integers(0, DEEPEST))):
        value = [value] if draw(st.booleans()) else {"a": value}
    return value


def a_whole_template() -> Manifest:
    """A template with something in each place that others read."""
    container: Manifest = {"name": "main", "image": "main:1", "resources": {}}
    spec: Manifest = {
        "containers": [container],
        "initContainers": [{"name": "first", "image": "first:1"}],
        "affinity": {"nodeAffinity": {}},
        "tolerations": [{"operator": "Exists"}],
    }
    return {"metadata": {"labels": {}, "annotations": {}}, "spec": spec}


def with_fields(fields: list[tuple[tuple[str | int, ...], str, Any]]) -> Manifest:
    template: Any = a_whole_template()
    for path, name, value in fields:
        at_path: Any = template
        for key in path:
            at_path = at_path[key]
        at_path[name] = copy.deepcopy(value)
    return template


def steps_of(view: JobView, turn: Turn) -> Iterator[Step]:
    if view.training is not None:
        yield training_step(view, view.training, turn)
    if view.inference is not None:
        yield inference_step(view, view.inference, turn)


def acted(job: Manifest) -> list[Step]:
    """What is done with a job that has just got its place, and with one that runs."""
    placed = at(job, "node", "node")
    sensible = a_service if job["kind"] == "InferenceJob" else a_gang
    found: list[Step] = []
    for pods in ([], pods_of(at(sensible(a_whole_template()), "node", "node"))):
        snapshot = seen(fake_node("node", gpus=8), placed, *pods)
        (view,) = snapshot.jobs
        turn = Turn(snapshot, Occupancy(snapshot), worker_url="http://plimsoll")
        found += steps_of(view, turn)
    return found


def acted_or_refused(job: Manifest) -> list[Step] | str:
    """What is done with a job, or what is said where it is refused when it is read."""
    try:
        return acted(job)
    except ValidationError as error:
        return why_refused(error)


def a_service(template: Manifest) -> Manifest:
    return an_inference_job("serve", replicas=2, template=template)


def a_gang(template: Manifest) -> Manifest:
    return a_training_job("train", workers=2, template=template)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [a_gang, a_service])
@given(
    fields=st.lists(
        st.tuples(st.sampled_from(PLACES), st.sampled_from(NAMES), nested()), min_size=1, max_size=4
    )
)
@example(fields=[(("spec", "containers", 0), "env", 7)])
@example(fields=[(("spec", "containers", 0), "volumeMounts", 7)])
@example(fields=[(("spec",), "volumes", 7)])
@example(fields=[(("spec",), "schedulingGates", "x")])
@example(fields=[(("spec",), "readinessGates", None)])
@example(fields=[(("spec",), "resources", {"requests": {"cpu": 0.5}})])
@example(fields=[(("spec",), "priority", "high")])
@example(fields=[(("spec", "containers", 0), "env", [{"name": {}}])])
@example(fields=[(("spec", "affinity"), "nodeAffinity", None)])
@example(fields=[(("spec", "containers", 0), "args", [2**64])])
def test_a_template_is_refused_by_its_field_or_can_be_acted_on(
    kind: Callable[[Manifest], Manifest],
    fields: list[tuple[tuple[str | int, ...], str, Any]],
) -> None:
    found = acted_or_refused(kind(with_fields(fields)))
    if isinstance(found, str):
        assert "template" in found
        return
    for pod in (pod for step in found for pod in step.create):
        assert pod["metadata"]["name"].startswith(("train-worker-", "serve-server-"))
        assert pod["metadata"]["labels"]["plimsoll.dev/job-uid"].startswith("uid-")
        msgspec.json.encode(pod)
        made = {**pod, "spec": {**pod["spec"], "schedulerName": DEFAULT_SCHEDULER}}
        assert change_by_admission(pod, msgspec.convert(made, Pod)) == ""


def test_what_is_null_is_not_there() -> None:
    nulls = [(("spec",), name, None) for name in ("volumes", "readinessGates", "restartPolicy")]
    job = a_gang(with_fields([*nulls, (("spec", "containers", 0), "env", None)]))
    (pod, _) = acted(job)[0].create
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["spec"]["volumes"][0]["name"] == "plimsoll-token"
