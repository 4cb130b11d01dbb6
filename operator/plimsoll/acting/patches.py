"""The patches that turn a status on the API server into another.

JSON merge patches (RFC 7396) and JSON patches (RFC 6902) for our own kinds, server-side apply of
one condition for pods.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from plimsoll.acting.pods.manifest import Manifest
from plimsoll.acting.step import GateChange, LabelChange
from plimsoll.api.definition import API_VERSION
from plimsoll.api.model import ApiModel, status_wire_of
from plimsoll.api.resource import Resource
from plimsoll.kube.objects.times import rfc3339
from plimsoll.observe.labels import SERVING


def status_patch(old: ApiModel, new: ApiModel) -> dict[str, JsonValue]:
    """The merge patch from a status as the API server has it to a new one."""
    there = old.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
    return merge_patch(there, status_wire_of(new))


def status_of(resource: Resource, status: ApiModel) -> Manifest:
    """An object with nothing but this status, to replace that of the very version it is from."""
    meta = resource.metadata
    return {
        "apiVersion": API_VERSION,
        "kind": type(resource).definition.kind,
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
        },
        "status": status_wire_of(status),
    }


def status_operations(raw: Mapping[str, Any], new: ApiModel) -> list[Manifest]:
    """The JSON patch (RFC 6902) that turns the status of an object, read as `raw`, into a new one.

    It fails unless that status is as it was read, whatever else in the object has changed.
    Top-level fields are replaced or removed as a whole. Raises ValidationError where that status
    cannot be read.
    """
    there, wire = raw.get("status"), status_wire_of(new)
    tests: list[Manifest] = [
        {"op": "test", "path": "/metadata/uid", "value": raw["metadata"]["uid"]},
        {"op": "test", "path": "/status", "value": there},
    ]
    if there is None:
        return [*tests, {"op": "add", "path": "/status", "value": wire}]
    # By what it says itself: what is left out there and what is known to be empty are the same, but
    # only a field that is there can be removed.
    patch = status_patch(type(new).model_validate(there), new)
    gone = [key for key, value in patch.items() if value is None]
    changed = sorted(patch.keys() - gone)
    removed = ({"op": "remove", "path": f"/status/{key}"} for key in gone)
    added = ({"op": "add", "path": f"/status/{key}", "value": wire[key]} for key in changed)
    return [*tests, *removed, *added]


def merge_patch(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The JSON merge patch (RFC 7396) from `old` to `new`; empty if they are the same.

    Neither may contain null, since in a merge patch null removes a field.
    """
    patch: dict[str, JsonValue] = dict.fromkeys(old.keys() - new.keys())
    for key, value in new.items():
        was = old.get(key)
        if isinstance(was, dict) and isinstance(value, dict):
            inner = merge_patch(was, value)
            if inner:
                patch[key] = inner
        elif was != value or key not in old:
            patch[key] = value
    return patch


def label_patch(change: LabelChange) -> Manifest:
    """The merge patch that changes a pod's labels; the uid protects a pod of the same name."""
    return {"metadata": {"uid": change.pod.uid, "labels": dict(change.labels)}}


def gate_patch(change: GateChange) -> Manifest:
    """What to apply to a pod's status to set its readiness gate.

    The uid protects another pod of the same name.
    """
    pod = change.pod
    condition: Manifest = {
        "type": SERVING,
        "status": "True" if change.opens else "False",
        "reason": change.reason,
        "message": change.message,
        "lastTransitionTime": rfc3339(change.at),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "status": {"conditions": [condition]},
    }
