"""The wire format of an object of the API server."""

from typing import Any, TypeAlias

import yaml

Manifest: TypeAlias = dict[str, Any]
"""JSON as the API server sends and takes it.

`Any`, because this is the border: what tests read from it they compare at once.
"""


def named(kind: str, name: str, version: str = "v1") -> Manifest:
    """The head of an object of this name; `version` is that of its API group."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def manifests_in(text: str) -> list[Manifest]:
    """The objects in the documents of a YAML text; empty documents are left out.

    Parsed in C: definitions with a whole pod template are a megabyte, and Python takes seconds.
    """
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]
