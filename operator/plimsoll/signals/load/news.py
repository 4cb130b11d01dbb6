"""Decide whether a change in a service's known load is worth waking the loop."""

from typing import Final

from plimsoll.observe.measured.demand import JobDemand, RoleDemand

NEWS: Final = 0.01
"""The share by which a load must differ to be news."""


def is_news(before: JobDemand | None, now: JobDemand) -> bool:
    """Whether the change could lead to a different decision."""
    if before is None or (before.problem, len(before.roles)) != (now.problem, len(now.roles)):
        return True
    pairs = zip(before.roles, now.roles, strict=True)
    return any(_differs(one, other) for one, other in pairs)


def _differs(one: RoleDemand, other: RoleDemand) -> bool:
    if [load.bucket for load in one.loads] != [load.bucket for load in other.loads]:
        return True
    if one.role != other.role or one.learned != other.learned:
        return True
    pairs = zip(one.loads, other.loads, strict=True)
    return any(
        _apart(getattr(a, name), getattr(b, name))
        for a, b in pairs
        for name in ("foreseen", "worth", "least_of_late", "most_of_late")
    )


def _apart(one: float, other: float) -> bool:
    return one != other and abs(one - other) > NEWS * max(one, other)
