"""The places where a value does not fit a structural schema, as an API server would report them.

For Kubernetes' own schemas. Bounds and uniqueness in lists are not checked: a running object may be
older than the schema. Recurses as deep as the schema.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from plimsoll.api.templates.kubernetes_schema import Schema

# ruff: noqa: ANN401 - values of JSON are of any type

_QUANTITY: Final = "must be a quantity of at least 0, such as 2, '0.5' or 64Gi"
_TYPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "object": ((dict,), "must be an object"),
    "array": ((list, tuple), "must be a list"),
    "string": ((str,), "must be a string: quote numbers, true and false"),
    "boolean": ((bool,), "must be true or false without quotes"),
    "integer": ((int,), "must be a whole number without quotes"),
}
_BITS: Final = {"int32": 31, "int64": 63}


class Misfit(NamedTuple):
    """A place in a value, what must be there, and what is there."""

    path: tuple[int | str, ...]
    wanted: str
    found: Any


def misfits(value: Any, schema: Schema, path: tuple[int | str, ...] = ()) -> Iterator[Misfit]:
    """Yield what does not fit; unknown fields fit."""
    wrong = _wrong(value, schema)
    if wrong:
        yield Misfit(path, wrong, value)
    elif isinstance(value, dict):
        yield from _in_fields(cast("dict[str, Any]", value), schema, path)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(cast("Iterable[Any]", value)):
            yield from misfits(item, schema["items"], (*path, index))


def _in_fields(
    value: Mapping[str, Any], schema: Schema, path: tuple[int | str, ...]
) -> Iterator[Misfit]:
    for name in schema.get("required", ()):
        if name not in value:
            yield Misfit((*path, name), "is required", None)
    known: Mapping[str, Schema] = schema.get("properties", {})
    other: Schema | None = schema.get("additionalProperties")
    for name, inner in value.items():
        of_field = known.get(name, other)
        if of_field is not None:
            yield from misfits(inner, of_field, (*path, name))


def _wrong(value: Any, schema: Schema) -> str:
    """What the value itself must be but is not; "" if it fits."""
    if "x-kubernetes-int-or-string" in schema:
        return (
            _wrong_quantity(value, schema["pattern"]) if "pattern" in schema else _wrong_mix(value)
        )
    types, wanted = _TYPES[schema["type"]]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        return wanted
    bits = _BITS.get(schema.get("format", ""))
    if bits and not -(2**bits) <= value < 2**bits:
        return f"must fit into {bits + 1} bits: use a smaller number"
    return ""


def _wrong_mix(value: Any) -> str:
    fits = isinstance(value, int | str) and not isinstance(value, bool)
    return "" if fits else "must be a whole number or a string"


def _wrong_quantity(value: Any, pattern: str) -> str:
    if isinstance(value, float):
        return f"{_QUANTITY}: put it in quotes"
    fits = not _wrong_mix(value) and value != "" and re.fullmatch(pattern, str(value))
    return "" if fits else _QUANTITY
