"""Deadline policies on spot that ours is measured against.

Greedy and Uniform Progress ("Can't Be Late", NSDI'24) as published with that paper's simulator and
its later uses; with them goes that simulator's own guard, because of which Uniform Progress is
sometimes late: while the job seems to be on spot it stays there, even if spot is already down.
"""

import math
from collections.abc import Callable

from plimsoll_bench.spot.series import TICK_SECONDS, WORK_SECONDS
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing

_DONE = 1e-3


class Greedy:
    """Spot whenever it is up; on-demand once time is short, to the end."""

    def __init__(self, terms: SpotTerms) -> None:
        self._terms = terms

    def choice(self, standing: Standing, *, spot_is_up: bool) -> Choice:
        """Where to be in this tick."""
        overhead, left = self._terms.overhead_seconds, _whole_ticks(standing.seconds_left)
        if _ticks(standing.work_seconds + overhead) >= left:
            works = standing.on is Choice.SPOT and standing.overhead_seconds < _DONE
            return Choice.SPOT if works else Choice.ON_DEMAND
        short = _ticks(standing.work_seconds + 2 * overhead) >= left
        if short and standing.on is not Choice.SPOT:
            return Choice.ON_DEMAND
        return Choice.SPOT if spot_is_up else Choice.WAIT


class UniformProgress:
    """On-demand whenever progress falls behind uniform, and until it is ahead by two starts."""

    def __init__(self, terms: SpotTerms) -> None:
        self._terms = terms
        self._hours: float | None = None
        self._last = Choice.WAIT

    def choice(self, standing: Standing, *, spot_is_up: bool) -> Choice:
        """Where to be in this tick."""
        if self._hours is None:
            self._hours = standing.seconds_left
        left = _whole_ticks(standing.seconds_left)
        need = _ticks(standing.work_seconds + self._terms.overhead_seconds)
        found = self._usual(standing, self._hours, spot_is_up=spot_is_up)
        if need >= left:
            works = self._last is Choice.SPOT and standing.overhead_seconds < _DONE
            found = Choice.SPOT if works else Choice.ON_DEMAND
        if found is Choice.SPOT and not spot_is_up:
            found = Choice.WAIT
        self._last = found
        return found

    def _usual(self, standing: Standing, seconds: float, *, spot_is_up: bool) -> Choice:
        if spot_is_up:
            return Choice.SPOT
        passed = seconds - standing.seconds_left
        done = WORK_SECONDS - standing.work_seconds
        margin = 2 * self._terms.overhead_seconds if standing.on is Choice.ON_DEMAND else 0.0
        behind = (passed + margin) * WORK_SECONDS / seconds - done
        stays = standing.on is Choice.ON_DEMAND and behind >= 0
        return Choice.ON_DEMAND if stays or behind > 0 else Choice.WAIT


REFERENCES: dict[str, Callable[[SpotTerms], Greedy | UniformProgress]] = {
    "greedy": Greedy,
    "uniform_progress": UniformProgress,
}


def _ticks(seconds: float) -> int:
    return math.ceil(seconds / TICK_SECONDS)


def _whole_ticks(seconds: float) -> int:
    return math.floor(seconds / TICK_SECONDS)
