"""What was made with the version before is valid in this one, and nothing of it is forgotten."""

from collections.abc import Iterator

import pytest

from plimsoll.api.kinds import KIND_BY_NAME, KINDS
from plimsoll.api.resource import Resource
from plimsoll.api.schema.crds import crd
from plimsoll.api.templates.kubernetes_schema import kubernetes_schema
from support.objects.previous_version import GONE, definitions, filled, objects, paths, schema_of
from support.objects.schema_changes import KEEPS, Schema, narrowings

TEMPLATES = {
    "TrainingJob": ".spec.workers.template",
    "InferenceJob": ".spec.roles[].template",
}
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@each_kind
def test_no_definition_was_narrowed(kind: type[Resource]) -> None:
    name = kind.definition.kind
    old, new = schema_of(definitions()[name]), schema_of(crd(kind))
    gone = [f"{field}: is gone" for field in GONE.get(name, ())]
    typed = [f"{field}: takes not all" for field in typed_by_kubernetes(name, old, new)]
    assert sorted(narrowings(old, new)) == sorted([*gone, *typed])


def typed_by_kubernetes(name: str, old: Schema, new: Schema) -> Iterator[str]:
    """The fields of pod templates that were unread, and now take what Kubernetes' own schema says.

    Nothing else was ever of use there, for the API server refused the pods.
    """
    path = TEMPLATES.get(name)
    if path:
        theirs = kubernetes_schema("PodTemplateSpec")
        yield from unread_before(at(old, path), at(new, path), theirs, path)


def unread_before(old: Schema, new: Schema, theirs: Schema, path: str) -> Iterator[str]:
    known: Schema = old.get("properties", {})
    for field, schema in new.get("properties", {}).items():
        own = theirs["properties"][field]
        if field in known:
            yield from unread_before(known[field], schema, own, f"{path}.{field}")
        elif schema == own and old.get(KEEPS):
            yield f"{path}.{field}"
    if "items" in old and "items" in new:
        yield from unread_before(old["items"], new["items"], theirs["items"], f"{path}[]")


def at(schema: Schema, path: str) -> Schema:
    for name in path.removeprefix(".").split("."):
        schema = schema["properties"][name.removesuffix("[]")]
        schema = schema["items"] if name.endswith("[]") else schema
    return schema


@each_kind
def test_names_and_subresources_stay(kind: type[Resource]) -> None:
    old, new = definitions()[kind.definition.kind]["spec"], crd(kind)["spec"]
    assert new["names"] == old["names"]
    for was, now in zip(old["versions"], new["versions"], strict=True):
        assert (was["name"], was["subresources"]) == (now["name"], now["subresources"])


def test_objects_of_all_kinds_are_read() -> None:
    for each in objects():
        KIND_BY_NAME[each["kind"]].model_validate(each)
    assert {each["kind"] for each in objects()} == set(KIND_BY_NAME)


@each_kind
def test_statuses_are_read(kind: type[Resource]) -> None:
    name = kind.definition.kind
    status = filled(schema_of(definitions()[name]))["status"]
    example = next(each for each in objects() if each["kind"] == name)
    read = kind.model_validate({**example, "status": status})
    said = read.model_dump(by_alias=True, exclude_none=True, mode="json")["status"]
    assert paths(status) <= paths(said)


def a_schema() -> Schema:
    name: Schema = {"type": "string", "enum": ["a", "b"], "maxLength": 5}
    fields: Schema = {
        "name": name,
        "names": {"type": "array", "items": dict(name), "maxItems": 3},
        "count": {"type": "integer", "minimum": 0, "maximum": 9},
        "extra": {"type": "string", "default": "a"},
        "open": {"type": "object", KEEPS: True, "properties": {"a": {"type": "string"}}},
    }
    return {"type": "object", "properties": fields, "required": ["name"]}


def changed(place: str, change: Schema) -> Schema:
    """A schema that was changed at a place, such as `properties/name`; None takes a key away."""
    schema = a_schema()
    at = schema
    for key in place.split("/") if place else ():
        at = at[key]
    for key, value in change.items():
        if value is None:
            del at[key]
        else:
            at[key] = value
    return schema


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        ("properties", {"count": None}, ".count: is gone"),
        ("", {"required": ["name", "count"]}, ".count: is required"),
        ("", {"required": ["name", "new"]}, ".new: is required"),
        ("properties/name", {"enum": ["a"]}, ".name: b is no value"),
        ("properties/count", {"enum": [1]}, ".count: any is no value"),
        ("properties/count", {"maximum": 8}, ".count: maximum is lower"),
        ("properties/count", {"minimum": 1}, ".count: minimum is higher"),
        ("properties/count", {"type": "string"}, ".count: type changes"),
        ("properties/names", {"minItems": 1}, ".names: minItems is higher"),
        ("properties/names/items", {"maxLength": 4}, ".names[]: maxLength is lower"),
        ("properties/open/properties", {"b": {"type": "object"}}, ".open.b: takes not all"),
        ("properties/open", {KEEPS: None}, ".open: unknown fields are dropped"),
    ],
)
def test_what_is_narrowed_is_reported(place: str, change: Schema, message: str) -> None:
    assert list(narrowings(a_schema(), changed(place, change))) == [message]


@pytest.mark.parametrize(
    ("place", "change"),
    [
        ("properties", {"more": {"type": "string"}}),
        ("", {"required": ["name", "extra"]}),
        ("", {"required": None}),
        ("properties/name", {"enum": ["a", "b", "c"]}),
        ("properties/name", {"enum": None}),
        ("properties/count", {"maximum": 10}),
        ("properties/count", {"minimum": None}),
    ],
)
def test_what_is_widened_is_fine(place: str, change: Schema) -> None:
    assert list(narrowings(a_schema(), changed(place, change))) == []
