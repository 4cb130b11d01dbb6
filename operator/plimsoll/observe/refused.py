"""Unreadable custom resources, as far as they can be read: whose they are, and what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class RefusedObject:
    """An object in a version that cannot be read; `why` names the field and the remedy.

    `status` is what the API server has, unparsed.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    version: str
    generation: int
    why: str
    status: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


def refused_object(raw: Mapping[str, Any], why: str) -> RefusedObject:
    """What is known of an object without its spec."""
    meta, status = raw["metadata"], raw.get("status")
    return RefusedObject(
        kind=raw["kind"],
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta["uid"],
        version=meta["resourceVersion"],
        generation=meta.get("generation", 0),
        why=why,
        status=cast("Mapping[str, Any]", status) if isinstance(status, dict) else _NOTHING,
    )
