"""The least that a run could have cost with full knowledge of future spot availability.

Forwards over ticks: the least dollars by where the job is and what work is left, in units into
which ticks and overheads divide.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plimsoll_bench.spot.series import TICK_SECONDS, WORK_SECONDS
from plimsoll_placement.estimate.spot.choice import SpotTerms

Costs = NDArray[np.float64]


def least_dollars(up: Sequence[bool], hours: Sequence[int], terms: SpotTerms) -> dict[int, float]:
    """The optimum by deadline, in hours."""
    unit = math.gcd(round(TICK_SECONDS), round(terms.overhead_seconds))
    tick, work = round(TICK_SECONDS) // unit, round(WORK_SECONDS) // unit
    progress = stages_of(tick, round(terms.overhead_seconds) // unit)
    costs = np.full((1 + 2 * len(progress), work + 1), np.inf)
    costs[0, work] = 0
    found, least = dict[int, float](), np.inf
    for passed, spot_is_up in enumerate(up[: _ticks(max(hours))], start=1):
        costs = _next(costs, progress, tick, terms, spot_is_up=spot_is_up)
        least = min(least, costs[:, 0].min())
        costs[:, 0] = np.inf
        found |= {each: float(least) for each in hours if _ticks(each) == passed}
    return found


def _ticks(hours: int) -> int:
    return round(hours * 3600 / TICK_SECONDS)


def stages_of(tick: int, overhead: int) -> list[int]:
    """Units of work in the ticks since a start; the last goes on for ever."""
    found: list[int] = []
    while overhead > 0:
        found.append(max(tick - overhead, 0))
        overhead = max(overhead - tick, 0)
    return [*found, tick]


def _next(
    costs: Costs, progress: list[int], tick: int, terms: SpotTerms, *, spot_is_up: bool
) -> Costs:
    """A tick later. Rows: nowhere, the stages on spot, the stages on on-demand."""
    stages = len(progress)
    then = np.full_like(costs, np.inf)
    then[0] = costs.min(axis=0)
    sides = ((1, terms.spot_price, spot_is_up), (1 + stages, terms.on_demand_price, True))
    for first, price, is_there in sides:
        for stage, units in enumerate(progress if is_there else ()):
            # A run on spot that was interrupted goes on nowhere: its stages are not looked at.
            before = costs[first + stage] if stage else then[0]
            row = first + min(stage + 1, stages - 1)
            paid = _worked(before, units, tick, price * TICK_SECONDS / 3600)
            then[row] = np.minimum(then[row], paid)
    return then


def _worked(costs: Costs, units: int, tick: int, price: float) -> Costs:
    """The costs after a tick of so many units of work; the last is paid for until its work ends."""
    if not units:
        return costs + price
    after = np.full_like(costs, np.inf)
    after[:-units] = costs[units:] + price
    part = (tick - units + np.arange(units + 1)) / tick
    after[0] = (costs[: units + 1] + part * price).min()
    return after
