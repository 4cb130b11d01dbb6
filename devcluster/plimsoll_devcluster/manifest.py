"""The wire format of an object of the API server."""

from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
"""JSON as the API server sends and takes it.

`Any`, because this is the border: what tests read from it they compare at once.
"""


def named(kind: str, name: str, version: str = "v1") -> Manifest:
    """The head of an object of this name; `version` is that of its API group."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
