"""What a Kubernetes quantity such as `500m`, `2.5` or `64Gi` amounts to, exactly.

Whole numbers of a unit are rounded up, as the API server and kube-scheduler do: a pod that asks for
half a byte needs one. Leaves out which unit a quantity is in: the field that holds it knows.
"""

import re
from decimal import ROUND_CEILING, ROUND_UP, Decimal
from functools import lru_cache
from typing import Final

from plimsoll.errors import InvalidQuantity

LARGEST: Final = 2**60
"""Whole units beyond it count as so many; so the sum of some still fits into 64 bits."""
_LARGEST_VALUE: Final = Decimal(2**63 - 1)
"""Kubernetes takes what is beyond it for this."""
_NANO: Final = Decimal("1e-9")
"""Kubernetes knows nothing finer, and rounds what is away from 0."""

_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,3}))?"
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
    """Return the value of a quantity, exact to nanounits within the range that Kubernetes has.

    Raises InvalidQuantity where Kubernetes would refuse the text.
    """
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise InvalidQuantity(f"{text!r} is no quantity: write a number such as 2, '0.5' or '500m'")
    number = Decimal(match["number"])
    if match["suffix"]:
        number *= _FACTORS[match["suffix"]]
    number = number.scaleb(int(match["exponent"] or 0))
    number = max(-_LARGEST_VALUE, min(_LARGEST_VALUE, number))
    # Only what is finer: else the number stays as it was written.
    return number if number % _NANO == 0 else number.quantize(_NANO, ROUND_UP)


def quantity_text(quantity: Decimal) -> str:
    """Return the quantity as a plain decimal number, which Kubernetes reads back unchanged."""
    text = format(quantity, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def thousandths(quantity: Decimal) -> int:
    """Return the quantity in thousandths (milli-GPUs, millicores), rounded up."""
    return _whole(quantity.scaleb(3))


@lru_cache(maxsize=8192)
def units(text: str | int) -> int:
    """Return a quantity in whole units (bytes, pods, devices). Raises InvalidQuantity."""
    return _whole(parse_quantity(text))


@lru_cache(maxsize=8192)
def millis(text: str | int) -> int:
    """Return a quantity in thousandths (millicores). Raises InvalidQuantity."""
    return thousandths(parse_quantity(text))


def _whole(quantity: Decimal) -> int:
    """The number rounded up, and no larger than `LARGEST`."""
    return max(-LARGEST, min(LARGEST, int(quantity.to_integral_value(ROUND_CEILING))))
