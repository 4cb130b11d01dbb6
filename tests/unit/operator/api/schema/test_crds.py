"""The CRDs in the repository are those of the models, and say all that a good CRD says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plimsoll.api.kinds import KINDS
from plimsoll.api.resource import Resource
from plimsoll.api.schema.crds import crd, crd_files, main, stale_files
from plimsoll.api.schema.reference import reference

ROOT = Path(__file__).parents[5]
CRDS = ROOT / "crds"
MOST_ANNOTATED = 256 * 1024
Schema = dict[str, Any]

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def schema(kind: type[Resource]) -> Schema:
    return crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def fields(part: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield the path and schema of every field below, lists and maps looked into."""
    yield path, part
    for name, field in part.get("properties", {}).items():
        yield from fields(field, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in part:
            yield from fields(part[inner], f"{path}[]")


def own(kind: type[Resource]) -> Iterator[tuple[str, Schema]]:
    """Yield the fields that are ours, and none of those of a pod template."""
    return ((path, field) for path, field in fields(schema(kind)) if ".template." not in path)


def named_fields(kind: type[Resource]) -> list[tuple[str, Schema]]:
    return [
        (path, field)
        for path, field in own(kind)
        if path and not path.endswith("[]") and path not in (".metadata", ".apiVersion", ".kind")
    ]


def test_the_crds_are_not_stale() -> None:
    assert stale_files(CRDS) == []


def test_the_reference_is_not_stale() -> None:
    assert (ROOT / "docs/reference/api.md").read_text() == reference()


def test_a_stale_missing_or_superfluous_file_is_reported(tmp_path: Path) -> None:
    assert main(["write", str(tmp_path)]) == 0
    assert main(["check", str(tmp_path)]) == 0
    first, second, *_ = sorted(crd_files())
    (tmp_path / first).write_text("kind: Other\n")
    (tmp_path / second).unlink()
    (tmp_path / "old.yaml").touch()
    assert stale_files(tmp_path) == sorted([first, second, "old.yaml"])
    assert main(["check", str(tmp_path)]) == 1


@each_kind
def test_a_definition_fits_into_what_kubectl_apply_writes_beside_it(kind: type[Resource]) -> None:
    assert len(json.dumps(crd(kind), separators=(",", ":"))) < MOST_ANNOTATED


@each_kind
def test_every_field_is_described(kind: type[Resource]) -> None:
    assert [path for path, field in named_fields(kind) if not field.get("description")] == []


@each_kind
def test_every_field_has_one_type(kind: type[Resource]) -> None:
    for path, field in fields(schema(kind)):
        typed = "type" in field or field.get("x-kubernetes-int-or-string")
        assert typed, path
        assert not {"$ref", "title", "anyOf", "const"} & field.keys(), path


@each_kind
def test_every_list_is_bounded_and_says_how_it_merges(kind: type[Resource]) -> None:
    lists = [(path, field) for path, field in fields(schema(kind)) if field.get("type") == "array"]
    for path, field in lists:
        assert "maxItems" in field or ".template." in path, path
        assert field.get("x-kubernetes-list-type") in {"map", "set", "atomic"}, path


@each_kind
def test_keys_of_map_lists_are_required_or_filled_in(kind: type[Resource]) -> None:
    for path, field in fields(schema(kind)):
        for key in field.get("x-kubernetes-list-map-keys", ()):
            item = field["items"]
            assert key in item.get("required", ()) or "default" in item["properties"][key], path


@each_kind
def test_texts_that_users_write_are_bounded(kind: type[Resource]) -> None:
    for path, field in named_fields(kind):
        if path.startswith(".spec") and field.get("type") == "string":
            assert field.keys() & {"maxLength", "enum", "format"}, path


@each_kind
def test_a_status_holds_only_what_was_written(kind: type[Resource]) -> None:
    status = schema(kind)["properties"]["status"]
    assert [path for path, field in fields(status) if "default" in field] == []


@each_kind
def test_every_rule_says_what_to_do(kind: type[Resource]) -> None:
    for path, field in fields(schema(kind)):
        for rule in field.get("x-kubernetes-validations", ()):
            assert rule["message"], path


@each_kind
def test_columns_scale_and_selectors_read_fields_that_there_are(kind: type[Resource]) -> None:
    there = {path for path, _ in fields(schema(kind))} | {".metadata.creationTimestamp"}
    version = crd(kind)["spec"]["versions"][0]
    paths = [entry["jsonPath"] for entry in version["additionalPrinterColumns"]]
    paths += [entry["jsonPath"] for entry in version.get("selectableFields", ())]
    paths += version["subresources"].get("scale", {}).values()
    assert set(paths) <= there
