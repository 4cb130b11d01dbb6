"""How much is "1500m", "2Gi" or "1e3"? Kubernetes quantities as exact integers.

Fractions of the asked unit are rounded up, as the API server and the scheduler do: a pod that asks
for half a byte needs one.
"""

import re
from fractions import Fraction
from functools import lru_cache

from plimsoll.errors import InvalidQuantity

_SYNTAX = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))"
    r"(?:[eE](?P<exponent>[+-]?\d+)|(?P<suffix>[a-zA-Z]*))",
    re.ASCII,
)
_FACTORS = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
# Beyond it Kubernetes clamps to 2^63 - 1 anyway; and 1e999999 must not eat the memory.
_LARGEST_EXPONENT = 18


@lru_cache(maxsize=8192)
def units(text: str | int) -> int:
    """A quantity in whole units (bytes, pods, GPUs), rounded up."""
    return _ceiling(_exact(text))


@lru_cache(maxsize=8192)
def millis(text: str | int) -> int:
    """A quantity in thousandths (millicores), rounded up."""
    return _ceiling(_exact(text) * 1000)


def _exact(text: str | int) -> Fraction:
    match = _SYNTAX.fullmatch(str(text))
    if match is None:
        raise InvalidQuantity(f"not a quantity: {text!r}")
    number = Fraction(match["number"])
    if match["exponent"] is not None:
        return number * _power_of_ten(int(match["exponent"]), str(text))
    factor = _FACTORS.get(match["suffix"])
    if factor is None:
        raise InvalidQuantity(f"unknown suffix {match['suffix']!r} in quantity {text!r}")
    return number * factor


def _power_of_ten(exponent: int, text: str) -> Fraction:
    if abs(exponent) > _LARGEST_EXPONENT:
        raise InvalidQuantity(f"exponent out of range in quantity {text!r}")
    return Fraction(10) ** exponent


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
