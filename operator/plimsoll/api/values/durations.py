"""How long `1h30m` is, and how a span of time is written.

The notation is that of the Gateway API (GEP-2257), a subset of Go's: up to four whole numbers,
each with its unit. Leaves out points in time.
"""

import re
from datetime import timedelta
from typing import Final

DURATION_PATTERN: Final = r"^([0-9]{1,5}(h|m|s|ms)){1,4}$"

_PART: Final = re.compile(r"([0-9]{1,5})(ms|h|m|s)")
_UNITS: Final = {
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}


class DurationError(ValueError):
    """A text is no duration."""


def parse_duration(text: str) -> timedelta:
    """Return the span of time that a text such as `45s`, `10m` or `1h30m` names.

    Raises DurationError for everything that the API server would refuse.
    """
    if not re.fullmatch(DURATION_PATTERN, text):
        raise DurationError(f"{text!r} is no duration: write it like 45s, 10m or 1h30m")
    return sum((int(count) * _UNITS[unit] for count, unit in _PART.findall(text)), timedelta())


def duration_text(duration: timedelta) -> str:
    """Return the shortest notation of a duration that is not negative, to the millisecond."""
    rest = duration // timedelta(milliseconds=1)
    parts: list[str] = []
    for unit, length in _UNITS.items():
        count, rest = divmod(rest, length // timedelta(milliseconds=1))
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
