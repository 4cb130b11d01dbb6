"""Parsing and formatting of durations such as `1h30m`.

The notation is that of the Gateway API (GEP-2257), a subset of Go's: up to four whole numbers, each
with a unit. Points in time are not covered.
"""

import re
from datetime import timedelta
from typing import Final

DURATION_PATTERN: Final = r"^([0-9]{1,5}(h|m|s|ms)){1,4}$"

_MOST_OF_A_PART: Final = 99_999
_MOST_PARTS: Final = 4
_PART: Final = re.compile(r"([0-9]{1,5})(ms|h|m|s)")
_UNITS: Final = {
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}


class DurationError(ValueError):
    """A text is not a duration."""


def parse_duration(text: str) -> timedelta:
    """Return the duration that a text such as `45s`, `10m` or `1h30m` stands for.

    Raises DurationError for everything that the API server would refuse.
    """
    if not re.fullmatch(DURATION_PATTERN, text):
        raise DurationError(f"{text!r} is not a duration: write it like 45s, 10m or 1h30m")
    return sum((int(count) * _UNITS[unit] for count, unit in _PART.findall(text)), timedelta())


def duration_text(duration: timedelta) -> str:
    """Return the shortest notation of a non-negative duration, to the millisecond.

    Of one that needs more than four parts the first four, so that it can always be read again.
    """
    rest = duration // timedelta(milliseconds=1)
    parts: list[str] = []
    for unit, length in _UNITS.items():
        count, rest = divmod(rest, length // timedelta(milliseconds=1))
        while count > _MOST_OF_A_PART and len(parts) < _MOST_PARTS:
            parts.append(f"{_MOST_OF_A_PART}{unit}")
            count -= _MOST_OF_A_PART
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:_MOST_PARTS]) or "0s"
