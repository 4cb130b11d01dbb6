"""Find fields of a custom resource that its CRD does not know, each by its path with a remedy.

The models ignore them; `api.refusal_text` words what the models refuse.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from plimsoll.api.refusal_text import Path, field_path, schema_of
from plimsoll.api.resource import Resource
from plimsoll.api.schema.crd_schema import Schema

_MOST_LISTED = 12
_OPEN = "x-kubernetes-preserve-unknown-fields"


def unknown_fields(kind: type[Resource], raw: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each field that the CRD does not know; kubectl refuses these too."""
    for path, known in _unknown(raw, schema_of(kind.definition.kind), ()):
        yield f"{field_path(path)}: is unknown: {_guess(str(path[-1]), known)}"


def _unknown(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, Sequence[str]]]:  # noqa: ANN401 - any JSON
    fields: Mapping[str, Schema] = schema.get("properties", {})
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _unknown(item, schema["items"], (*path, index))
    elif isinstance(value, dict) and fields:
        for name, inner in cast("dict[str, Any]", value).items():
            if name in fields:
                yield from _unknown(inner, fields[name], (*path, name))
            elif _OPEN not in schema:
                yield (*path, name), tuple(fields)


def _guess(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    listed = ", ".join(sorted(known)[:_MOST_LISTED])
    return f"remove it, or use one of {listed}{', …' if len(known) > _MOST_LISTED else ''}"
