"""Parse numbers in labels and annotations, where anyone may write anything.

Python's own `int` raises at thousands of digits, and accepts digits of every alphabet.
"""

from typing import Final

_MOST_DIGITS: Final = 18
"""This many digits fit into 64 bits; tighter limits are applied where the number is used."""


def whole_number(text: str) -> int | None:
    """The number written in plain ASCII digits; None if it is not one, or is enormous."""
    is_plain = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_plain else None
