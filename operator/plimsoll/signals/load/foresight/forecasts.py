"""Forecast loads from their histories: models are refitted occasionally, forecasts every step.

Fitting takes a hundred times as long as forecasting, so each look has a time budget for it; a load
not fitted yet has no forecast.

A forecast is of the highest load in the time from when replicas started now could be ready until
the horizon. Models see histories in blocks of that length, as the highest load in each: in shorter
steps, targets that overlap and values that hardly differ would seem to be more evidence than they
are.
"""

import math
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import numpy as np

from plimsoll.signals.load.foresight.aim import Aim
from plimsoll.signals.load.foresight.series import (
    STEP_SECONDS,
    LoadSeries,
    highest_in_blocks,
)
from plimsoll_placement.estimate.forecast.distribution import Forecast
from plimsoll_placement.estimate.forecast.history import History
from plimsoll_placement.estimate.forecast.model import Model, learned
from plimsoll_placement.estimate.forecast.price_curve import PriceCurve
from plimsoll_placement.estimate.forecast.regressors import Horizon
from plimsoll_placement.estimate.forecast.trial import Trial

LEAST_KNOWN: Final = 15
"""Half an hour: with less history, recent load is just as informative."""
MOST_STALE: Final = 30
"""The most steps between refits, an hour."""
STALE_SHARE: Final = 8
"""With a short history, refit after it has grown by this share."""
BLOCKS: Final = (1, 2, 3, 5, 6, 10, 15, 30)
"""The lengths of blocks in steps: an hour has a whole number of each."""
MOST_BLOCKS_AHEAD: Final = 4
"""Blocks are as long as it takes for the horizon to be no more of them ahead."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """The horizon in blocks of so many steps."""

    steps: int
    horizon: Horizon


@dataclass(frozen=True, slots=True, eq=False)
class Foreseen:
    """A forecast, and the price of capacity: a share of what it is worth while in use."""

    forecast: Forecast
    price: float
    floor: float

    @property
    def quantile(self) -> float:
        """The quantile that the price is worth."""
        return 1 - self.price

    @property
    def load(self) -> float:
        """That quantile of the load. Loads below the model's floor all count as nothing."""
        load = self.forecast.wanted(self.price)
        return load if load >= self.floor else 0.0

    def worth(self, aim: Aim) -> float:
        """The capacity that is worth its price."""
        return aim.worth(self.forecast, self.price) if self.load else 0.0


@dataclass(slots=True)
class _Lesson:
    """A model, what prices did in the past, the step at which it was fitted, its last forecast."""

    model: Model
    ahead: Ahead
    curve: PriceCurve
    step: int
    forecast_step: int = -1
    forecast: Forecast | None = None


class Forecasts:
    """Keeps a model of each load; `clock` measures the seconds that fitting takes."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._lessons: dict[Hashable, _Lesson] = {}
        self._clock = clock
        self._seconds_left = 0.0

    def allow(self, seconds: float) -> None:
        """Set the fitting time until the next call; a fit in progress is finished."""
        self._seconds_left = seconds

    def foreseen(
        self, key: Hashable, series: LoadSeries, horizon: Horizon, aim: Aim, share: float
    ) -> Foreseen | None:
        """The forecast, and the price at which this share stays unserved; None if unknown."""
        step = series.step
        if step is None or np.isfinite(series.loads).sum() < LEAST_KNOWN:
            return None
        lesson = self._lesson(key, series, in_blocks(horizon), aim)
        if lesson is None:
            return None
        if lesson.forecast_step != step:
            lesson.forecast_step = step
            lesson.forecast = _forecast(lesson, series)
        if lesson.forecast is None:
            return None
        price = lesson.curve.price(share) if aim.quantile is None else 1 - aim.quantile
        return Foreseen(lesson.forecast, price, lesson.model.floor)

    def forget(self, key: Hashable) -> None:
        """Forget one load's model."""
        self._lessons.pop(key, None)

    def keep(self, keys: Iterable[Hashable]) -> None:
        """Forget all but these."""
        kept = set(keys)
        self._lessons = {key: each for key, each in self._lessons.items() if key in kept}

    def _lesson(self, key: Hashable, series: LoadSeries, ahead: Ahead, aim: Aim) -> _Lesson | None:
        step, lesson = series.step or 0, self._lessons.get(key)
        if lesson is not None and lesson.ahead != ahead:
            lesson = None
        stale = min(MOST_STALE, max(1, len(series.loads) // STALE_SHARE))
        is_due = lesson is None or step - lesson.step >= stale
        if is_due and self._seconds_left > 0:
            started = self._clock()
            lesson = self._lessons[key] = _learned(series, ahead, aim)
            self._seconds_left -= self._clock() - started
        return lesson


def horizon_of(start: timedelta, horizon: timedelta) -> Horizon:
    """The steps from when replicas started now could be ready, to the horizon."""
    first = 1 + start // _STEP
    return Horizon(first, max(1, math.ceil(horizon / _STEP) - first + 1))


def in_blocks(horizon: Horizon) -> Ahead:
    """The fewest blocks that cover a horizon."""
    least = max(horizon.hold, math.ceil(horizon.steps / MOST_BLOCKS_AHEAD))
    steps = next((block for block in BLOCKS if block >= least), BLOCKS[-1])
    first, last = 1 + (horizon.lead - 1) // steps, math.ceil(horizon.steps / steps)
    return Ahead(steps, Horizon(first, last - first + 1))


_STEP: Final = timedelta(seconds=STEP_SECONDS)
_NONE: Final = np.empty(0)


def _history(series: LoadSeries, ahead: Ahead) -> History:
    loads = highest_in_blocks(series.known, ahead.steps)
    return History.of(loads, ahead.steps * STEP_SECONDS)


def _learned(series: LoadSeries, ahead: Ahead, aim: Aim) -> _Lesson:
    model = learned(_history(series, ahead), ahead.horizon)
    return _Lesson(_untried(model), ahead, model.trial.curve(aim.unit), series.step or 0)


def _untried(model: Model) -> Model:
    """The model without its backtest, which is ten times as large as what is learned of it."""
    return replace(model, trial=Trial(_NONE, _NONE, _NONE, _NONE, model.shape, model.floor))


def _forecast(lesson: _Lesson, series: LoadSeries) -> Forecast | None:
    """None without recent load."""
    found = lesson.model.forecast(_history(series, lesson.ahead))
    return found if found is not None and math.isfinite(found.mean) else None
