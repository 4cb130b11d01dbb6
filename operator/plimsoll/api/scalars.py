"""Which kinds of single values the custom resources hold, and what they may be.

Each is a type for Python and, by its annotations, a schema for the CRD.
"""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

from plimsoll.api.durations import DURATION_PATTERN, duration_text, parse_duration
from plimsoll.api.quantities import parse_quantity, quantity_text
from plimsoll.api.schema_marks import Rule

_QUANTITY_PATTERN: Final = (
    r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$"
)
_POSITIVE_PATTERN: Final = (
    r"^[+]?([0-9]*[1-9][0-9]*(\.[0-9]*)?|[0-9]*\.[0-9]*[1-9][0-9]*)"
    r"([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$"
)
_INT_OR_STRING: Final = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
    "maxLength": 32,
}
_WELL_FORMED_DURATION: Final = Rule(
    f"self.matches('{DURATION_PATTERN}')", "must be a duration such as 45s, 10m or 1h30m"
)


def _decimal(value: object) -> Decimal:
    """Return the value that a quantity has on the wire, or has in Python already."""
    match value:
        case Decimal():
            return value
        case str() | int() if not isinstance(value, bool):
            return parse_quantity(value)
        case _:
            raise ValueError(f"write {value!r} as a whole number, or quoted, such as '2.5'")


def _timedelta(value: object) -> timedelta:
    match value:
        case timedelta():
            return value
        case str():
            return parse_duration(value)
        case _:
            raise ValueError(f"{value!r} is no duration: write it like 45s, 10m or 1h30m")


def _parseable(value: int | str) -> int | str:
    parse_quantity(value)
    return value


def _not_negative(value: Decimal) -> Decimal:
    if value < 0:
        raise ValueError("must not be negative")
    return value


def _positive(value: Decimal) -> Decimal:
    if value <= 0:
        raise ValueError("must be above 0")
    return value


_SignedQuantity = Annotated[
    Decimal, BeforeValidator(_decimal), PlainSerializer(quantity_text, return_type=str)
]

Quantity = Annotated[
    _SignedQuantity,
    AfterValidator(_not_negative),
    WithJsonSchema({**_INT_OR_STRING, "pattern": _QUANTITY_PATTERN.replace("[+-]?", "[+]?", 1)}),
]
"""A number that may have a fraction, 0 or above, exact: `3`, `"0.25"`, `"500m"`, `"1.5k"`."""

ResourceQuantity = Annotated[
    int | str,
    AfterValidator(_parseable),
    WithJsonSchema({**_INT_OR_STRING, "pattern": _QUANTITY_PATTERN}),
]
"""A quantity in a pod template, kept as the user wrote it."""

PositiveQuantity = Annotated[
    _SignedQuantity,
    AfterValidator(_positive),
    WithJsonSchema({**_INT_OR_STRING, "pattern": _POSITIVE_PATTERN, "minimum": 1}),
]
"""A number above 0 that may have a fraction, exact."""

Duration = Annotated[
    timedelta,
    BeforeValidator(_timedelta),
    PlainSerializer(duration_text, return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "maxLength": 32,
            "x-kubernetes-validations": [_WELL_FORMED_DURATION.as_json()],
        }
    ),
]
"""A span of time: `45s`, `10m`, `1h30m`."""

Timestamp = AwareDatetime
"""A point in time, RFC 3339."""

Percent = Annotated[int, Field(ge=0, le=100)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Watts = Annotated[int, Field(ge=0, le=1_000_000_000)]

LabelValue = Annotated[
    str,
    Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"),
]
"""The value of a node label, such as a GPU type (`NVIDIA-H100-80GB-HBM3`)."""

LabelKey = Annotated[
    str,
    Field(
        min_length=1,
        max_length=317,
        pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
    ),
]
"""The key of a node label, such as `topology.kubernetes.io/zone`."""

ResourceName = Annotated[
    str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
]
"""The name of another Kubernetes object."""

RoleName = Annotated[
    str, Field(min_length=1, max_length=30, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
]
PromQL = Annotated[str, Field(min_length=1, max_length=2048)]
Message = Annotated[str, Field(max_length=4096)]
Word = Annotated[str, Field(max_length=253)]
"""A short text in a status."""
