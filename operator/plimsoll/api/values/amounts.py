"""The types of numbers and durations in the custom resources.

Each is a Python type that carries a schema with a rule for the CRD.
"""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    JsonValue,
    PlainSerializer,
    WithJsonSchema,
)

from plimsoll.api.schema_marks import Rule, checked
from plimsoll.api.values.durations import DURATION_PATTERN, duration_text, parse_duration
from plimsoll.api.values.quantities import parse_quantity, quantity_text

_LONGEST: Final = 32
INT_OR_STRING: Final[dict[str, JsonValue]] = {
    "x-kubernetes-int-or-string": True,
    "maxLength": _LONGEST,
}
_DURATION: Final = Rule(
    f"self.matches('{DURATION_PATTERN}')", "must be a duration, such as 45s, 10m or 1h30m"
)
_POSITIVE_DURATION: Final = Rule(
    f"self.matches('{DURATION_PATTERN}') && duration(self) > duration('0s')",
    "must be a duration above 0, such as 45s, 10m or 1h30m",
)


def _number(condition: str, message: str) -> Rule:
    """Return a rule for a quantity, which the condition calls `q`."""
    expression = condition.replace("q.", "quantity(string(self)).")
    return Rule(f"isQuantity(string(self)) && {expression}", message)


_HUGE_EXPONENT: Final = "[eE][-+]?[0-9]{5,}$"
"""Exponents that would keep an API server busy for minutes."""
_AMOUNT: Final = Rule(
    f"!string(self).matches('{_HUGE_EXPONENT}') && isQuantity(string(self))"
    " && !quantity(string(self)).isLessThan(quantity('0'))",
    "must be a quantity of at least 0, such as 2, '0.5' or 64Gi",
)
_NOT_NEGATIVE: Final = _number(
    "!q.isLessThan(quantity('0'))", "must be a number of at least 0, such as 2 or '0.5'"
)
_ABOVE_ZERO: Final = _number(
    "q.isGreaterThan(quantity('0'))", "must be a number above 0, such as 2 or '0.5'"
)
_GPU_COUNT: Final = _number(
    "q.isGreaterThan(quantity('0')) && (q.isInteger() || q.isLessThan(quantity('1')))",
    "must be a whole number of GPUs, such as 8, or a fraction of one above 0 and below 1, such as"
    " '0.25'",
)
_FRACTION: Final = _number(
    "q.isGreaterThan(quantity('0')) && q.isLessThan(quantity('1'))",
    "must be above 0, below 1 and in quotes, such as '0.9'",
)
_PERCENTAGE: Final = _number(
    "q.isGreaterThan(quantity('0')) && !q.isGreaterThan(quantity('100'))",
    "must be above 0 and at most 100, such as 99 or '99.9'",
)
_TEXT: Final[dict[str, JsonValue]] = {"type": "string", "maxLength": 32}


def to_decimal(value: float, digits: int) -> Decimal:
    """Return a computed figure as statuses hold it, to so many digits after the point."""
    return Decimal(str(round(value, digits)))


def _decimal(value: object) -> Decimal:
    """Return the value of a quantity, from the wire or already converted."""
    match value:
        case Decimal():
            return value
        case str() | int() if not isinstance(value, bool):
            return parse_quantity(value)
        case _:
            raise ValueError(f"{value!r} must be a whole number, or quoted, such as '2.5'")


def _timedelta(value: object) -> timedelta:
    match value:
        case timedelta():
            return value
        case str():
            return parse_duration(value)
        case _:
            raise ValueError(f"{value!r} is not a duration: write it like 45s, 10m or 1h30m")


def _amount(value: object) -> int | str:
    """Return the value unchanged after checking its text and the length that the schema allows."""
    if isinstance(value, float):
        raise ValueError(f"{_AMOUNT.message}: put it in quotes")  # noqa: TRY004 - as pydantic wants
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(_AMOUNT.message)  # noqa: TRY004 - as pydantic wants
    text = str(value)
    fits = len(text) <= _LONGEST and not re.search(_HUGE_EXPONENT, text)
    if not fits or parse_quantity(text) < 0:
        raise ValueError(_AMOUNT.message)
    return value


def _not_negative(value: Decimal) -> Decimal:
    if value < 0:
        raise ValueError(_NOT_NEGATIVE.message)
    return value


def _above_zero(value: Decimal) -> Decimal:
    if value <= 0:
        raise ValueError(_ABOVE_ZERO.message)
    return value


def _gpu_count(value: Decimal) -> Decimal:
    if value <= 0 or (value > 1 and value % 1):
        raise ValueError(_GPU_COUNT.message)
    return value


def _fraction(value: Decimal) -> Decimal:
    if not 0 < value < 1:
        raise ValueError(_FRACTION.message)
    return value


def _percentage(value: Decimal) -> Decimal:
    if not 0 < value <= 100:  # noqa: PLR2004 - a hundred percent
        raise ValueError(_PERCENTAGE.message)
    return value


def _positive_duration(value: timedelta) -> timedelta:
    if value <= timedelta():
        raise ValueError(_POSITIVE_DURATION.message)
    return value


_SignedQuantity = Annotated[
    Decimal, BeforeValidator(_decimal), PlainSerializer(quantity_text, return_type=str)
]

Quantity = Annotated[
    _SignedQuantity,
    AfterValidator(_not_negative),
    WithJsonSchema(checked(INT_OR_STRING, _NOT_NEGATIVE)),
]
"""An exact number of 0 or above that may have a fraction: `3`, `"0.25"`, `"500m"`, `"1.5k"`."""

PositiveQuantity = Annotated[
    _SignedQuantity,
    AfterValidator(_above_zero),
    WithJsonSchema(checked(INT_OR_STRING, _ABOVE_ZERO)),
]
"""An exact number above 0 that may have a fraction."""

ResourceQuantity = Annotated[
    int | str, BeforeValidator(_amount), WithJsonSchema(checked(INT_OR_STRING, _AMOUNT))
]
"""A quantity in a pod template, kept as the user wrote it."""

GpuCount = Annotated[
    _SignedQuantity,
    AfterValidator(_gpu_count),
    WithJsonSchema(checked(INT_OR_STRING, _GPU_COUNT)),
]
"""GPUs: a whole number, or a fraction of one device."""

Fraction = Annotated[
    _SignedQuantity, AfterValidator(_fraction), WithJsonSchema(checked(INT_OR_STRING, _FRACTION))
]
"""A number above 0 and below 1."""

Percentage = Annotated[
    _SignedQuantity,
    AfterValidator(_percentage),
    WithJsonSchema(checked(INT_OR_STRING, _PERCENTAGE)),
]
"""A share above 0 % and up to 100 %, which may have a fraction."""

_AnyDuration = Annotated[
    timedelta, BeforeValidator(_timedelta), PlainSerializer(duration_text, return_type=str)
]

Duration = Annotated[_AnyDuration, WithJsonSchema(checked(_TEXT, _DURATION))]
"""A span of time: `0s`, `45s`, `10m`, `1h30m`."""

PositiveDuration = Annotated[
    _AnyDuration,
    AfterValidator(_positive_duration),
    WithJsonSchema(checked(_TEXT, _POSITIVE_DURATION)),
]
"""A span of time above 0."""
