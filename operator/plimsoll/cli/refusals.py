"""What would the API server refuse in a custom resource? Each field by its path, with a remedy.

The models hold the same rules as the CRDs. Here what they say is put into words for people, and
fields that no CRD knows are found, which the models read over.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from plimsoll.api.crd_schema import Schema, structural_schema
from plimsoll.api.resource import Resource

_MOST_LISTED = 12
_OPEN = "x-kubernetes-preserve-unknown-fields"
Path = tuple[int | str, ...]


def refusals(kind: type[Resource], error: ValidationError) -> Iterator[str]:
    """What is wrong by the rules, a sentence for each field."""
    details = error.errors(include_url=False)
    paths = [each["loc"] for each in details]
    for each in details:
        # A list that is short only because of its wrong items is not wrong itself.
        if each["type"] == "too_short" and any(_is_within(path, each["loc"]) for path in paths):
            continue
        yield _sentence(field_path(each["loc"]), _said(kind, each))


def _is_within(path: Path, outer: Path) -> bool:
    return len(path) > len(outer) and path[: len(outer)] == outer


def _sentence(path: str, text: str) -> str:
    return f"{path}: {text}" if path else text


def field_path(path: Path) -> str:
    """A path as kubectl writes it: `spec.roles[0].template`, `requests[nvidia.com/gpu]`."""
    text = ""
    for step in path:
        plain = isinstance(step, str) and step.isidentifier()
        text += (f".{step}" if text else str(step)) if plain else f"[{step}]"
    return text


def _said(kind: type[Resource], error: ErrorDetails) -> str:
    if error["type"] == "missing":
        return "is required"
    if error["type"] == "too_short":
        return f"needs at least {error['ctx']['min_length']}" if "ctx" in error else error["msg"]
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    if error["type"] == "string_pattern_mismatch":
        rules = _schema_at(kind, error["loc"]).get("x-kubernetes-validations", [])
        text = "; ".join(rule["message"] for rule in rules) or error["msg"]
    else:
        text = error["msg"].removeprefix("Input ")
    given = error["input"]
    return f"{text}; it is {given!r}" if isinstance(given, str | int | float) else text


@cache
def _schema(kind: type[Resource]) -> Schema:
    return structural_schema(kind)


def _schema_at(kind: type[Resource], path: Path) -> Schema:
    schema = _schema(kind)
    for step in path:
        inner = schema.get("items", {}) if isinstance(step, int) else _fields(schema).get(step, {})
        schema = cast("Schema", inner)
    return schema


def _fields(schema: Schema) -> Mapping[str, Schema]:
    return schema.get("properties", {})


def unknown_fields(kind: type[Resource], raw: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each field that the CRD does not know; kubectl refuses these as well."""
    for path, known in _unknown(raw, _schema(kind), ()):
        yield f"{field_path(path)}: is unknown: {_guess(str(path[-1]), known)}"


def _unknown(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, Sequence[str]]]:  # noqa: ANN401 - any JSON
    fields = _fields(schema)
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
    return f"take it out, there are {listed}{', …' if len(known) > _MOST_LISTED else ''}"
