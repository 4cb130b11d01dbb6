"""The version before this one: its chart, its definitions, and objects that its users made."""

import json
import tarfile
from functools import cache, reduce
from pathlib import Path
from typing import Any, cast

import yaml

from plimsoll_devcluster.manifest import Manifest, manifests_in

FOLDER = Path(__file__).with_name("previous")
(CHART,) = FOLDER.glob("plimsoll-*.tgz")
VERSION = CHART.stem.removeprefix("plimsoll-")
Schema = dict[str, Any]

# What this version does not have any more, by kind; CHANGELOG.md says why.
GONE = {
    "GPUPool": (".spec.provisioning.nodeClaimTemplate",),
    "PlacementPolicy": (".spec.planning.interval",),
}
SAMPLES: Schema = {"integer": 1, "number": 1, "boolean": True, "string": "a"}


@cache
def definitions() -> dict[str, Manifest]:
    """The definitions of the custom resources, by kind."""
    with tarfile.open(CHART) as chart:
        files = [chart.extractfile(name) for name in chart.getnames() if "/files/crds/" in name]
        found = [yaml.load(file, yaml.CSafeLoader) for file in files if file]
    return {each["spec"]["names"]["kind"]: each for each in found}


def objects() -> list[Manifest]:
    """What users made, of all kinds."""
    return manifests_in((FOLDER / "objects.yaml").read_text())


def kept(manifest: Manifest) -> Manifest:
    """An object without the fields that are gone."""
    copy: Manifest = json.loads(json.dumps(manifest))
    for field in GONE.get(manifest["kind"], ()):
        *parents, name = field.removeprefix(".").split(".")
        at: dict[str, Any] = reduce(lambda of, part: of.get(part, {}), parents, copy)
        at.pop(name, None)
    return copy


def schema_of(definition: Manifest) -> Schema:
    """The schema of a definition that has one version."""
    (version,) = definition["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def filled(schema: Schema) -> Any:  # noqa: ANN401 - any value of JSON
    """A value in which every field of a schema is set; rules in CEL are not looked at."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("x-kubernetes-int-or-string"):
        return "1"
    if schema.get("format") == "date-time":
        return "2026-01-02T03:04:05Z"
    match schema["type"]:
        case "object":
            inner = schema.get("additionalProperties")
            named = {name: filled(field) for name, field in schema.get("properties", {}).items()}
            return {**named, **({"a": filled(inner)} if inner else {})}
        case "array":
            return [filled(schema["items"])]
        case simple:
            return SAMPLES[simple]


def paths(value: object, place: str = "") -> set[str]:
    """The places of all that is in a value of JSON."""
    if isinstance(value, dict):
        named = cast("dict[str, object]", value).items()
        return {place}.union(*(paths(each, f"{place}.{name}") for name, each in named))
    if isinstance(value, list):
        items = cast("list[object]", value)
        return {place}.union(*(paths(each, f"{place}[]") for each in items))
    return {place}


def without_news(value: object, known: object) -> object:
    """What is left of a value of JSON where only the fields of `known` count."""
    if isinstance(value, dict) and isinstance(known, dict):
        new, old = cast("dict[str, object]", value), cast("dict[str, object]", known)
        return {name: without_news(new[name], old[name]) for name in old if name in new}
    if isinstance(value, list) and isinstance(known, list):
        pairs = zip(cast("list[object]", value), cast("list[object]", known), strict=True)
        return [without_news(new, old) for new, old in pairs]
    return cast("object", value)
