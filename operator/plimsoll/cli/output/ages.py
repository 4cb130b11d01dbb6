"""How long ago something was, as kubectl says it."""

from datetime import datetime
from typing import Final

_UNITS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_MOST_PARTS: Final = 2
_LARGE: Final = 10
"""From this many of a unit on, the smaller unit is left out."""


def age(since: datetime | None, now: datetime) -> str:
    """The time since then, such as `4m10s` or `3d`; `-` if it is not known."""
    if since is None:
        return "-"
    return lasting(max(0, int((now - since).total_seconds())))


def lasting(seconds: int) -> str:
    """A duration, such as `4m10s` or `3d`."""
    parts: list[str] = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts += [f"{count}{unit}"] if count else []
            if len(parts) == _MOST_PARTS or count >= _LARGE or not count:
                break
    return "".join(parts) or "0s"
