"""Whatever is written in a pod template, it is refused in a line, or becomes a pod of a plan."""

from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from plimsoll.acting.pods.manifest import Gang, PodPlacement, pod_manifest
from plimsoll.acting.pods.worker_access import with_access
from plimsoll.api.refusal_text import LONGEST, why_refused
from plimsoll.api.templates.kubernetes_schema import Schema, kubernetes_schema
from plimsoll.api.training_job import TrainingJob
from plimsoll.api.values.quantities import LARGEST
from plimsoll.observe.eligibility.eligibility import constraints_of
from plimsoll.observe.eligibility.placement_spec import placement_spec
from plimsoll.observe.eligibility.requests import effective_requests
from plimsoll.observe.template_hash import template_hashes
from support.objects.manifests import edited, training_job

PLACEMENT = PodPlacement("worker", 1, 0, 7, "node-1", "nvidia.com/gpu", 4)
TEXTS = st.text(max_size=3) | st.sampled_from(["1", "Gi", "1e999", "8Ei", "Always", "In", "a"])
NUMBERS = st.integers() | st.floats() | st.sampled_from([0, 1, 2**31, 2**63])
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PLACES = ("spec.workers.template", "spec.workers: template", "spec: workers.template")
"""How a refusal begins: a rule between fields stands at the object that holds both."""
SCALARS = {"string": TEXTS, "boolean": st.booleans(), "integer": st.integers(-9, 99)}
READ = ("containers", "initContainers", "affinity", "tolerations", "volumes", "resources", "env")


@st.composite
def values(draw: st.DrawFn, schema: Schema) -> Any:  # noqa: ANN401 - any JSON
    """A value of a schema, in which now and then something is anything."""
    if draw(st.integers(0, 15)) == 0:
        return draw(ANYTHING)
    match schema:
        case {"properties": fields}:
            return {name: draw(values(fields[name])) for name in draw(names(schema))}
        case {"additionalProperties": inner}:
            keys = draw(st.lists(TEXTS | st.sampled_from(["cpu", "memory"]), max_size=2))
            return {key: draw(values(inner)) for key in keys}
        case {"items": inner}:
            return [draw(values(inner)) for _ in range(draw(st.integers(0, 2)))]
        case {"type": kind}:
            return draw(SCALARS[kind])
        case _:
            return draw(TEXTS | NUMBERS)


@st.composite
def names(draw: st.DrawFn, schema: Schema) -> set[str]:
    """Some of the fields of an object, those rather that are read, and those that must be there."""
    fields = cast("dict[str, Schema]", schema["properties"])
    read = sorted(fields.keys() & {*READ})
    some = draw(st.lists(st.sampled_from([*sorted(fields), *read * 8]), max_size=3))
    return {*some, *schema.get("required", ())}


TEMPLATES = values(kubernetes_schema("PodTemplateSpec"))
CONTAINERS = values(kubernetes_schema("Container"))
SPECS = values(kubernetes_schema("PodSpec"))


@settings(max_examples=5 * settings().max_examples)
@given(st.data())
def test_a_template_is_refused_in_a_line_or_can_be_used(data: st.DataObject) -> None:
    container = {"name": "main", "image": "main:1"}
    match data.draw(st.sampled_from(["container", "spec", "template"])):
        case "container":
            drawn = with_required(data.draw(CONTAINERS), container)
            refused_or_used({"spec": {"containers": [drawn]}})
        case "spec":
            drawn = with_required(data.draw(SPECS), {"containers": [container]})
            refused_or_used({"spec": drawn})
        case _:
            refused_or_used(data.draw(TEMPLATES))


def with_required(drawn: object, required: Schema) -> object:
    """What was drawn; an object with what it needs to be taken."""
    return {**cast("Schema", drawn), **required} if isinstance(drawn, dict) else drawn


def refused_or_used(template: Any) -> None:  # noqa: ANN401 - any JSON
    try:
        job = TrainingJob.model_validate(
            edited(training_job(), {"spec.workers.template": template})
        )
    except ValidationError as error:
        text = why_refused(error)
        assert text.startswith(PLACES)
        assert len(text) <= LONGEST
        assert text.isprintable()
        return
    pod_spec = placement_spec(job.spec.workers.template)
    constraints_of(pod_spec)
    requests = effective_requests(pod_spec)
    assert 0 <= requests.cpu_millis <= LARGEST
    assert 0 <= requests.memory_bytes <= LARGEST
    pod = with_access(pod_manifest(job, PLACEMENT, Gang({"worker": 2})), "http://plimsoll")
    assert pod["spec"]["containers"]
    assert template_hashes(job.spec.workers.template, 1000)
