"""Derive the order for a node's GPUs from its annotation and the operator's state.

Amounts are watts in annotations and milliwatts near NVML, as NVML has them.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from plimsoll_agent.operator_life import Life

MILLI = 1000
_WATTS = re.compile("[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave the limits as they are, for this reason; "" if it need not be reported."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Restore:
    """Restore each GPU's default limit; `why` says so if a cap is wanted nevertheless."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Cap:
    """Set this limit on each GPU."""

    watts: int


Order: TypeAlias = Keep | Restore | Cap


@dataclass(frozen=True, slots=True)
class Limits:
    """A GPU's power limits in milliwatts: the one set, and the range allowed.

    `enforced` is the effective limit: the one set, or a lower one of the board's.
    """

    current: int
    enforced: int
    lowest: int
    highest: int
    default: int


@dataclass(frozen=True, slots=True)
class Target:
    """The limit in milliwatts to set on a GPU, None to keep its own; or why none is set."""

    milliwatts: int | None
    refusal: str = ""


def order(wanted: str | None, life: Life, *, timeout_seconds: float) -> Order:
    """What `wanted`, the annotation, requires while the operator's state is `life`."""
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
    """The limit for a GPU under `order`; one outside the GPU's range is refused."""
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
    """Whole watts, never less than `milliwatts`: readers rely on a limit as an upper bound."""
    return -(-milliwatts // MILLI)
