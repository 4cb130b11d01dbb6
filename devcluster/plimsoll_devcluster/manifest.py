"""The wire format of an object of the API server."""

from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
"""JSON as the API server sends and takes it.

`Any`, because this is the border: what tests read from it they compare at once.
"""
