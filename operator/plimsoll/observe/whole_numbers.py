"""The numbers that labels and annotations hold: whoever may write these may write anything.

Python's own `int` raises at thousands of digits, and takes digits of every alphabet.
"""

from typing import Final

_MOST_DIGITS: Final = 18
"""So many fit into 64 bits; what must be smaller is bounded where it is used."""


def whole_number(text: str) -> int | None:
    """The number that is written here in plain digits; None where it is none, or is enormous."""
    is_plain = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_plain else None
