"""The shape of an object of the API server, as it travels."""

from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
"""JSON as the API server sends and takes it. `Any`, because this is the border: what tests read
out of it they compare at once."""
