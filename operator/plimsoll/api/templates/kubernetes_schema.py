"""Kubernetes' schema of a pod template, in the structural form that a CRD requires.

`pod_template.json` is generated from Kubernetes' OpenAPI by `hack/pod_template.py`. Fields that a
newer Kubernetes adds are kept unread: no object is closed, and values are not enumerated.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final, cast

Schema = dict[str, Any]

TYPE: Final = "x-plimsoll-kubernetes-type"
"""Marks a schema of ours as an overlay on Kubernetes' schema for this type."""
_KEYS: Final = "x-kubernetes-list-map-keys"
_OPEN: Final[Schema] = {"x-kubernetes-preserve-unknown-fields": True}


@cache
def kubernetes_schema(type_name: str) -> Schema:
    """Return the schema of a Kubernetes type such as `PodTemplateSpec`, with references inlined."""
    return _spelled_out({"$ref": type_name})


@cache
def _types() -> Mapping[str, Schema]:
    return json.loads(
        resources.files("plimsoll.api.templates").joinpath("pod_template.json").read_text()
    )


def _spelled_out(schema: Schema) -> Schema:
    """Return the schema with all references inlined."""
    found = _types()[schema["$ref"]] if "$ref" in schema else schema
    result = {key: value for key, value in found.items() if key != "default"}
    if "properties" in found:
        required = found.get("required", ())
        result["properties"] = {
            name: _spelled_out(field) | ({} if name in required else {"nullable": True})
            for name, field in cast("dict[str, Schema]", found["properties"]).items()
        }
        result |= _OPEN
    if "additionalProperties" in found:
        result["additionalProperties"] = _spelled_out(found["additionalProperties"])
    if "items" in found:
        result["items"] = _with_keys(_spelled_out(found["items"]), found)
    return result


def _with_keys(item: Schema, of: Schema) -> Schema:
    """Return an item's schema with defaults for those of its keys that may be omitted."""
    absent = [key for key in of.get(_KEYS, ()) if key not in item.get("required", ())]
    if not absent:
        return item
    defaults = _types()[of["items"]["$ref"]]["properties"]
    keys = {key: _filled_in(item["properties"][key], defaults[key]) for key in absent}
    return {**item, "properties": {**item["properties"], **keys}}


def _filled_in(key: Schema, described: Schema) -> Schema:
    plain = {name: value for name, value in key.items() if name != "nullable"}
    return {**plain, "default": described.get("default", "")}


def laid_over(ours: Schema, theirs: Schema) -> Schema:
    """Return their schema overlaid with ours: fields of both, with ours taking precedence.

    Fields that we name must have a value; only fields that nobody reads may be null.
    """
    if theirs.get("type") not in ("object", "array"):
        return ours
    result = {key: value for key, value in theirs.items() if key != "nullable"} | ours
    if "properties" in theirs:
        own = cast("dict[str, Schema]", ours.get("properties", {}))
        common = {name: laid_over(field, theirs["properties"][name]) for name, field in own.items()}
        result["properties"] = theirs["properties"] | common
        required = [*ours.get("required", ()), *theirs.get("required", ())]
        result |= {"required": [*dict.fromkeys(required)]} if required else {}
    for inner in ("items", "additionalProperties"):
        if inner in theirs:
            result[inner] = laid_over(ours[inner], theirs[inner])
    return result
