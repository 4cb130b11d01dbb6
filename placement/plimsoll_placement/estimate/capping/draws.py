"""What servers draw, and what they would draw without caps, as arrays over one domain's servers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from plimsoll_placement.estimate.capping.domain import Server

Floats = npt.NDArray[np.float64]

BINDS_FROM: Final = 0.95
"""A server that draws at least this share of its cap is taken to be held back by it."""
BISECTIONS: Final = 30


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """By server, in watts of one GPU unless stated otherwise."""

    ranks: npt.NDArray[np.int64]
    gpus: Floats
    idle: Floats
    exponents: Floats
    caps: Floats
    """The caps in force; infinite where there is none."""
    lowest: Floats
    """The lowest caps; infinite where a server cannot be capped."""
    fixed: Floats
    """Caps in force on servers in use that cannot be capped now; they stay and save nothing."""
    now: Floats
    """What is drawn."""
    free: Floats
    """What would be drawn without caps."""
    busy: Floats
    """What is drawn under the usual load, by which loss is judged: at least `free`."""

    def watts(self, caps: Floats) -> float:
        """What all draw together under these caps."""
        return float(self.gpus @ np.minimum(self.free, caps))


def demand(servers: Sequence[Server], draw_watts: float) -> Demand:
    """The demand of a domain's servers, given the domain's total draw."""
    gpus = np.array([s.gpus for s in servers], dtype=np.float64)
    idle = np.array([s.idle_watts for s in servers], dtype=np.float64)
    caps = _watts([s.cap_watts for s in servers])
    measured = _watts([s.measured_watts for s in servers]) / np.maximum(gpus, 1)
    usual = np.array([max(s.draw_watts, s.idle_watts) for s in servers], dtype=np.float64)
    known = np.isfinite(measured)
    rest = max(0.0, draw_watts - float(gpus[known] @ measured[known]))
    likely = _likely(np.where(known, 0.0, gpus), idle, usual, caps, rest)
    now = np.where(known, measured, np.minimum(likely, caps))
    held = known & (measured >= BINDS_FROM * caps)
    free = np.where(known, np.where(held, np.maximum(usual, measured), measured), likely)
    lowest = _watts([_lowest(s) for s in servers])
    is_fixed = (gpus > 0) & np.isinf(lowest)
    free = np.where(is_fixed, now, free)
    return Demand(
        ranks=np.array([s.rank for s in servers], dtype=np.int64),
        gpus=gpus,
        idle=idle,
        exponents=np.array([s.exponent for s in servers], dtype=np.float64),
        caps=caps,
        lowest=lowest,
        fixed=np.where(is_fixed, caps, np.inf),
        now=now,
        free=free,
        busy=np.maximum(usual, free),
    )


def _lowest(server: Server) -> int | None:
    lowest = server.min_cap_watts
    return lowest if server.gpus and lowest is not None and lowest < server.limit_watts else None


def _watts(drawn: Sequence[int | None]) -> Floats:
    return np.array([np.inf if watts is None else watts for watts in drawn], dtype=np.float64)


def _likely(gpus: Floats, idle: Floats, usual: Floats, caps: Floats, rest: float) -> Floats:
    """What unmeasured servers draw without caps.

    It is what they usually draw, or proportionally less if even that, under the caps, would exceed
    the domain's draw.
    """
    low, high = 0.0, 1.0
    if float(gpus @ np.minimum(usual, caps)) <= rest:
        return usual
    for _ in range(BISECTIONS):
        share = (low + high) / 2
        if float(gpus @ np.minimum(idle + share * (usual - idle), caps)) <= rest:
            low = share
        else:
            high = share
    return idle + low * (usual - idle)
