"""The caps that save a given number of watts at the least loss of throughput, lowest rank first.

Within a rank the caps are such that one watt less would cost every server the same throughput
(water-filling): as a cap costs more the lower it is, no other caps with that saving cost less in
total. A higher rank is touched only when all lower ones are at their lowest.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from plimsoll_placement.estimate.capping.draws import BISECTIONS, Demand, Floats

Bools = npt.NDArray[np.bool_]

STEEPEST: Final = 10.0
"""How many powers of e the last watt may cost above the first; in practice only drivers' lowest
caps end that, at less than a tenth of it."""

SAME_WATTS: Final = 0.01
"""A cap this much below a step counts as that step: the search ends close to it."""


def caps_saving(demand: Demand, watts: float, step_watts: int) -> Floats:
    """Caps that save this much of the uncapped draw; all at their lowest if that is less."""
    caps = demand.fixed.copy()
    most = _saved(demand, demand.lowest)
    for rank in np.unique(demand.ranks):
        if watts <= 0:
            break
        mine = demand.ranks == rank
        lowest = most[mine].sum() <= watts
        level = demand.lowest if lowest else _level(demand, mine, watts, step_watts)
        caps[mine] = np.minimum(level, demand.fixed)[mine]
        watts -= most[mine].sum()
    return caps


def _saved(demand: Demand, caps: Floats) -> Floats:
    return demand.gpus * np.maximum(demand.free - caps, 0)


def _level(demand: Demand, mine: Bools, watts: float, step_watts: int) -> Floats:
    """Caps of one rank that save this much, if its lowest ones would save more."""
    first = np.log(demand.exponents / np.maximum(demand.busy - demand.idle, 1))
    low = float(first[mine].min())
    high = low + STEEPEST
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        saved = _saved(demand, _caps_at(demand, middle - first))[mine].sum()
        low, high = (middle, high) if saved < watts else (low, middle)
    caps = _caps_at(demand, high - first)
    stepped = np.floor((caps + SAME_WATTS) / step_watts) * step_watts
    return np.where(np.isfinite(caps), np.maximum(stepped, demand.lowest), np.inf)


def _caps_at(demand: Demand, steeper: Floats) -> Floats:
    """The caps at which a watt less costs e to the power of `steeper` times what the first did."""
    left = np.exp(np.minimum(steeper / (demand.exponents - 1), 0))
    caps = np.maximum(demand.idle + left * (demand.busy - demand.idle), demand.lowest)
    return np.where((steeper > 0) & (caps < demand.busy), caps, np.inf)
