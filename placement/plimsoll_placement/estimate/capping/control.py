"""Set and release caps so that a domain's draw stays within its budget.

Every response follows from one reading and the caps in force when it was taken, so a late reading
never leads to the same cap twice: what the caps save already is added, by the servers' demand, to
what must be saved, and the sum is distributed anew. Above the margin that happens at once; caps are
released in small parts after a calm period; in between they stay, except those that a higher rank
bears although a lower one could.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from plimsoll_placement.estimate.capping.cheapest_caps import caps_saving
from plimsoll_placement.estimate.capping.domain import MEASURED, Caps, Margins, Server
from plimsoll_placement.estimate.capping.draws import Demand, Floats, demand


def wanted_caps(
    budget_watts: int,
    draw_watts: int,
    servers: Sequence[Server],
    *,
    calm_seconds: float = 0,
    margins: Margins = MEASURED,
) -> Caps:
    """The caps of a domain's servers, given its total draw, measured or expected.

    The draw may include what no server here accounts for, such as idle GPUs. `calm_seconds` is how
    long responses have been calm without interruption.
    """
    now = demand(servers, draw_watts)
    is_over = draw_watts > budget_watts * margins.cap_above
    kept = _kept(now, margins)
    room = budget_watts * margins.release_below - draw_watts
    part = max(budget_watts * margins.release_share, _step(now, margins))
    looser = _looser(now, kept, min(room, part), margins)
    is_calm = bool((looser > kept).any())
    caps = looser if is_calm and calm_seconds >= margins.calm_seconds else kept
    if is_over:
        over = draw_watts - budget_watts * margins.target
        caps = caps_saving(now, _saved_now(now) + over, margins.step_watts)
    left = draw_watts - _drawn(now) + now.watts(caps) - budget_watts
    return Caps(
        by_server=_by_server(servers, caps),
        shortfall_watts=max(0, round(left)) if is_over else 0,
        saved_watts=round(now.watts(np.full_like(caps, np.inf)) - now.watts(caps)),
        is_calm=is_calm,
    )


def savable_watts(draw_watts: int, servers: Sequence[Server]) -> int:
    """What caps at their lowest would save of what is drawn with the caps in force."""
    now = demand(servers, draw_watts)
    return max(0, int(_drawn(now) - now.watts(np.minimum(now.caps, now.lowest))))


def _drawn(now: Demand) -> float:
    return float(now.gpus @ now.now)


def _saved_now(now: Demand) -> float:
    """What the caps in force save."""
    return float(now.gpus @ (now.free - now.now))


def _step(now: Demand, margins: Margins) -> float:
    """What capping everything capped one step higher adds: less might change nothing."""
    return float(now.gpus @ np.isfinite(now.caps)) * margins.step_watts


def _looser(now: Demand, kept: Floats, room: float, margins: Margins) -> Floats:
    """The kept caps, loosened by as much as adds at most this many watts."""
    if room <= 0:
        return kept
    return np.maximum(kept, caps_saving(now, _saved_now(now) - room, margins.step_watts))


def _kept(now: Demand, margins: Margins) -> Floats:
    """The caps in force, or others that save the same if the wrong ranks bear them."""
    if not _out_of_order(now):
        return np.where(np.isfinite(now.lowest), now.caps, now.fixed)
    return caps_saving(now, _saved_now(now), margins.step_watts)


def _out_of_order(now: Demand) -> bool:
    """Whether a server is capped although one of a lower rank has a cap above its lowest."""
    capped = np.isfinite(now.caps) & np.isfinite(now.lowest)
    spared = np.isfinite(now.lowest) & (now.caps > now.lowest)
    return bool(capped.any() and spared.any() and now.ranks[capped].max() > now.ranks[spared].min())


def _by_server(servers: Sequence[Server], caps: Floats) -> Mapping[str, int | None]:
    """None where a cap would be at or above the GPU's own limit."""
    return {
        server.name: int(cap) if cap < server.limit_watts else None
        for server, cap in zip(servers, caps, strict=True)
    }
