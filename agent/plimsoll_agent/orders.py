"""What is to be done with a node's GPUs? What its annotation and the operator's life say.

Amounts are watts in annotations and milliwatts where NVML is close, as NVML has them.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from plimsoll_agent.operator_life import Life

MILLI = 1000
_WATTS = re.compile("[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave the limits as they are, for this reason; "" is one that nobody needs to know."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Restore:
    """Give each GPU its default limit; `why` says so where a cap is wanted all the same."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Cap:
    """Give each GPU this limit."""

    watts: int


Order: TypeAlias = Keep | Restore | Cap


@dataclass(frozen=True, slots=True)
class Limits:
    """A GPU's power limits in milliwatts: the one that is set, and what may be set.

    `enforced` is what the GPU keeps to: the one that is set, or a lower one of the board's.
    """

    current: int
    enforced: int
    lowest: int
    highest: int
    default: int


@dataclass(frozen=True, slots=True)
class Target:
    """The limit in milliwatts that a GPU is to get, None for the one it has; or why it is not."""

    milliwatts: int | None
    refusal: str = ""


def order(wanted: str | None, life: Life, *, timeout_seconds: float) -> Order:
    """What `wanted`, the annotation, asks for while the operator is as `life` says."""
    if life is Life.UNKNOWN:
        return Keep()
    if wanted is None:
        return Restore()
    if life is Life.SILENT:
        return Restore(
            f"the operator has been silent for {timeout_seconds:g} s: default limits are restored"
        )
    if not _WATTS.fullmatch(wanted):
        return Keep(f"{wanted[:20]!r} is no whole number of watts")
    return Cap(int(wanted))


def target(order: Order, limits: Limits) -> Target:
    """The limit that `order` means for a GPU; one outside of the GPU's range is refused."""
    match order:
        case Keep():
            return Target(None)
        case Restore():
            return Target(limits.default)
        case Cap(watts):
            if limits.lowest <= watts * MILLI <= limits.highest:
                return Target(watts * MILLI)
            allowed = f"{watts_of(limits.lowest)} to {limits.highest // MILLI} W"
            return Target(None, f"a cap of {watts} W is outside of {allowed}")


def watts_of(milliwatts: int) -> int:
    """Whole watts, never less than `milliwatts`: who reads a limit relies on it as a bound."""
    return -(-milliwatts // MILLI)
