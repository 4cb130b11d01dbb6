"""The schema of pod templates is Kubernetes' own, open to what is newer, with ours laid over it."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.resource import Resource
from plimsoll.api.schema.crd_schema import structural_schema
from plimsoll.api.templates.kubernetes_schema import kubernetes_schema, laid_over
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.api.training_job import TrainingJob

Schema = dict[str, Any]
TEMPLATES: dict[type[Resource], tuple[str, ...]] = {
    TrainingJob: ("spec", "workers", "template"),
    InferenceJob: ("spec", "roles", "template"),
}
both = pytest.mark.parametrize("kind", TEMPLATES, ids=lambda kind: kind.__name__)


def embedded(kind: type[Resource]) -> Schema:
    schema = structural_schema(kind)
    for name in TEMPLATES[kind]:
        schema = schema.get("items", schema)["properties"][name]
    return schema


def at(schema: Schema, path: str) -> Schema:
    for name in path.split("."):
        schema = schema["items"] if name == "[]" else schema["properties"][name]
    return schema


def below(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, field in cast("dict[str, Schema]", schema.get("properties", {})).items():
        yield from below(field, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            yield from below(schema[inner], f"{path}[]")


@both
def test_all_of_a_template_is_typed_and_open_to_newer_fields(kind: type[Resource]) -> None:
    for path, field in below(embedded(kind)):
        assert "type" in field or field["x-kubernetes-int-or-string"], path
        if "properties" in field:
            assert field["x-kubernetes-preserve-unknown-fields"], path
        if field.get("type") == "object":
            assert {"properties", "additionalProperties"} & field.keys(), path


@both
@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("spec.containers", ["name"]),
        ("spec.initContainers", ["name"]),
        ("spec.containers.[].env", ["name"]),
        ("spec.containers.[].ports", ["containerPort", "protocol"]),
        ("spec.containers.[].volumeMounts", ["mountPath"]),
        ("spec.volumes", ["name"]),
        ("spec.imagePullSecrets", ["name"]),
        ("spec.topologySpreadConstraints", ["topologyKey", "whenUnsatisfiable"]),
    ],
)
def test_lists_merge_by_the_keys_that_they_have_in_pods(
    kind: type[Resource], path: str, keys: list[str]
) -> None:
    field = at(embedded(kind), path)
    assert field["x-kubernetes-list-type"] == "map"
    assert field["x-kubernetes-list-map-keys"] == keys


@both
@pytest.mark.parametrize("path", ["spec.tolerations", "spec.containers.[].command"])
def test_lists_that_are_whole_in_pods_stay_whole(kind: type[Resource], path: str) -> None:
    assert at(embedded(kind), path)["x-kubernetes-list-type"] == "atomic"


@both
def test_nothing_is_filled_in_but_the_protocol_of_a_port_and_the_name_of_a_secret(
    kind: type[Resource],
) -> None:
    template = structural_schema(kind)["properties"]["spec"]
    filled = [
        path for path, field in below(template) if "default" in field and ".template." in path
    ]
    names = {path.partition(".template.")[2] for path in filled}
    assert names == {
        "spec.containers[].ports[].protocol",
        "spec.initContainers[].ports[].protocol",
        "spec.imagePullSecrets[].name",
    }


@both
def test_what_nobody_here_reads_may_be_null_as_in_pods(kind: type[Resource]) -> None:
    template = embedded(kind)
    assert at(template, "spec.containers.[].env")["nullable"]
    assert at(template, "spec.dnsPolicy")["nullable"]
    assert "nullable" not in at(template, "spec.containers")
    assert "nullable" not in at(template, "spec.containers.[].name")


@both
def test_our_rules_lie_over_those_of_kubernetes(kind: type[Resource]) -> None:
    template = embedded(kind)
    assert at(template, "spec.containers")["maxItems"] == 32
    assert at(template, "spec.containers.[]")["required"] == ["name", "image"]
    assert at(template, "spec.containers.[]")["x-kubernetes-validations"]
    assert at(template, "spec.tolerations.[].effect")["enum"]
    (rule,) = at(template, "spec.containers.[].resources.requests")["additionalProperties"][
        "x-kubernetes-validations"
    ]
    assert "must be a quantity" in rule["message"]


def test_fields_of_ours_in_a_template_are_described_and_bounded() -> None:
    models = PodTemplate.model_json_schema()["$defs"]
    for model, schema in models.items():
        for name, field in schema["properties"].items():
            assert field["description"], f"{model}.{name}"
            assert field.get("type") != "array" or "maxItems" in field, f"{model}.{name}"


def test_nothing_is_said_of_the_containers_that_only_a_running_pod_gets() -> None:
    assert (
        "ephemeralContainers" not in at(kubernetes_schema("PodTemplateSpec"), "spec")["properties"]
    )


def test_where_both_speak_ours_counts_and_of_objects_both_fields_do() -> None:
    theirs = {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer", "format": "int32", "nullable": True},
        },
    }
    ours = {"type": "object", "required": ["b"], "properties": {"b": {"minimum": 1}}}
    assert laid_over(ours, theirs) == {
        "type": "object",
        "required": ["b", "a"],
        "properties": {"a": {"type": "string"}, "b": {"minimum": 1}},
    }
