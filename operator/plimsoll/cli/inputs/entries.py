"""Turn a manifest into the object that it describes, as the API server would hold it.

Missing fields are filled in: the namespace, a UID, and a creation time of now, the same for all.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, cast

import msgspec
from pydantic import ValidationError

from plimsoll.api.definition import API_VERSION, GROUP
from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.refusal_text import refusals
from plimsoll.api.resource import Resource
from plimsoll.api.unknown_fields import unknown_fields
from plimsoll.cli.inputs.core_objects import core_kind, core_object, is_namespaced
from plimsoll.cli.inputs.manifests import Manifest, Problem, Raw
from plimsoll.errors import InvalidQuantity
from plimsoll.kube.objects.objects import KubeObject


class Key(NamedTuple):
    """What identifies an object in a cluster."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An object and the manifest it was read from."""

    key: Key
    manifest: Manifest
    content: Resource | KubeObject


def is_read(manifest: Manifest) -> bool:
    """Whether plans depend on objects of this kind."""
    return core_kind(manifest) is not None or manifest.api_version.partition("/")[0] == GROUP


def entries(manifest: Manifest, now: datetime) -> Iterator[Entry | Problem]:
    """The object that a manifest describes, or everything that is wrong with it."""
    wrong = _unreadable(manifest)
    found = [wrong] if wrong else [*_unknown_fields(manifest)]
    if not wrong:
        key = _key(manifest)
        try:
            content = _object(manifest, _completed(manifest, key, now))
        except ValidationError as error:
            found += refusals(error)
        except msgspec.ValidationError as error:
            what, _, path = str(error).partition(" - at `$.")
            found.append(f"{path.rstrip('`')}: {what}")
        except InvalidQuantity as error:
            found.append(str(error))
        else:
            if not found:
                yield Entry(key, manifest, content)
    yield from (manifest.problem(what) for what in found)


def _unreadable(manifest: Manifest) -> str | None:
    """Why it is unclear what the manifest describes."""
    if not isinstance(manifest.metadata.get("name"), str):
        return "metadata.name: is required and must be a string"
    if core_kind(manifest) is not None:
        return None
    if manifest.api_version != API_VERSION:
        return f"apiVersion: must be {API_VERSION}, the only supported version"
    if manifest.kind not in KIND_BY_NAME:
        return f"kind: is unknown in {API_VERSION}: use one of {', '.join(sorted(KIND_BY_NAME))}"
    return None


def _unknown_fields(manifest: Manifest) -> Iterator[str]:
    """Unknown fields in a hand-written manifest; an API server may know newer ones."""
    ours = None if core_kind(manifest) else KIND_BY_NAME[manifest.kind]
    if ours is not None and not manifest.is_live:
        yield from unknown_fields(ours, manifest.raw)


def _key(manifest: Manifest) -> Key:
    ours = KIND_BY_NAME.get(manifest.kind)
    namespaced = ours.definition.namespaced if ours else is_namespaced(manifest.kind)
    namespace = manifest.metadata.get("namespace") or "default"
    return Key(manifest.kind, namespace if namespaced else "", manifest.metadata["name"])


def _completed(manifest: Manifest, key: Key, now: datetime) -> Raw:
    raw = pruned(manifest.raw)
    made = {
        "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{GROUP}/{'/'.join(key)}")),
        "creationTimestamp": now.replace(microsecond=0).isoformat(),
    }
    return {**raw, "metadata": {**made, **raw["metadata"], "namespace": key.namespace}}


def pruned(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value without nulls, as the API server stores it."""
    if isinstance(value, list):
        return [pruned(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {name: pruned(inner) for name, inner in items if inner is not None}
    return value


def _object(manifest: Manifest, raw: Raw) -> Resource | KubeObject:
    core = core_kind(manifest)
    return core_object(core, raw) if core else KIND_BY_NAME[manifest.kind].model_validate(raw)
