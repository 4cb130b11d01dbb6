"""The exact value of a Kubernetes quantity such as `500m`, `2.5` or `64Gi`.

Conversions to whole units round up, as in the API server and kube-scheduler: a pod that asks for
half a byte needs one. The unit is known only to the field that holds the quantity.
"""

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Final

from plimsoll.errors import InvalidQuantity

LARGEST: Final = 2**60
"""Amounts are capped at this many whole units, so that sums of several still fit into 64 bits."""
_LARGEST_VALUE: Final = Decimal(2**63 - 1)
"""Kubernetes caps larger values at this."""
_SMALLEST_VALUE: Final = Decimal("1e-9")
"""Kubernetes rounds smaller values above 0 up to this."""
_LONGEST_KEPT: Final = 32
"""Longest text whose value is cached; longer ones are as rare as they are large."""

# Kubernetes reads a number without digits, as in `Gi`, as 0.
_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]*)?)"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,19}))?"
)
_FACTORS: Final = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}


def parse_quantity(text: str | int) -> Decimal:
    """Return the value of a quantity, exact to nanounits within the range of Kubernetes.

    Raises InvalidQuantity where Kubernetes would refuse the text.
    """
    match = _QUANTITY.fullmatch(str(text))
    if match is None or not match[0]:
        raise InvalidQuantity(
            f"{text!r} is not a quantity: write a number such as 2, '0.5' or '500m'"
        )
    digits = match["number"]
    number = Decimal(digits) if digits.strip(".") else Decimal()
    if match["suffix"]:
        number *= _FACTORS[match["suffix"]]
    value = _scaled(number, _exponent(match["exponent"] or "0"))
    return -value if match["sign"] == "-" else value


def _exponent(text: str) -> int:
    """The exponent as Kubernetes reads it, which keeps the lower 32 bits of the number."""
    return (int(text) + 2**31) % 2**32 - 2**31


def _scaled(number: Decimal, exponent: int) -> Decimal:
    """The number with its point moved; out-of-range values are never written out."""
    if not number:
        return number
    magnitude = number.adjusted() + exponent
    if magnitude < _SMALLEST_VALUE.adjusted():
        return _SMALLEST_VALUE
    if magnitude > _LARGEST_VALUE.adjusted():
        return _LARGEST_VALUE
    return min(_LARGEST_VALUE, number.scaleb(exponent))


def quantity_text(quantity: Decimal) -> str:
    """Return the quantity as a plain decimal number, which Kubernetes reads back unchanged."""
    text = format(quantity, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def thousandths(quantity: Decimal) -> int:
    """Return the quantity in thousandths (milli-GPUs, millicores), rounded up."""
    return _whole(quantity.scaleb(3))


def units(text: str | int) -> int:
    """Return a quantity in whole units (bytes, pods, devices). Raises InvalidQuantity."""
    return _known_units(text) if _is_short(text) else _whole(parse_quantity(text))


def millis(text: str | int) -> int:
    """Return a quantity in thousandths (millicores). Raises InvalidQuantity."""
    return _known_millis(text) if _is_short(text) else thousandths(parse_quantity(text))


def capped(amount: int) -> int:
    """Return the amount, capped at `LARGEST`."""
    return max(-LARGEST, min(LARGEST, amount))


def _is_short(text: str | int) -> bool:
    return isinstance(text, int) or len(text) <= _LONGEST_KEPT


@lru_cache(maxsize=8192)
def _known_units(text: str | int) -> int:
    return _whole(parse_quantity(text))


@lru_cache(maxsize=8192)
def _known_millis(text: str | int) -> int:
    return thousandths(parse_quantity(text))


def _whole(quantity: Decimal) -> int:
    """The number rounded up, and capped at `LARGEST`."""
    return capped(int(quantity.to_integral_value(ROUND_CEILING)))
