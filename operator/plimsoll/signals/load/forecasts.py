"""Forecast loads from their histories: models are refitted occasionally, forecasts every step.

Fitting takes a hundred times as long as forecasting, so each look has a time budget for it; a load
not fitted yet has no forecast.
"""

import math
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import numpy as np

from plimsoll.signals.load.series import STEP_SECONDS, LoadSeries
from plimsoll_placement.estimate.forecast.history import History
from plimsoll_placement.estimate.forecast.model import Model, learned
from plimsoll_placement.estimate.forecast.regressors import Horizon
from plimsoll_placement.estimate.forecast.trial import Trial

LEAST_KNOWN: Final = 15
"""Half an hour: with less history, recent load is just as informative."""
MOST_STALE: Final = 30
"""The most steps between refits, an hour."""
STALE_SHARE: Final = 8
"""With a short history, refit after it has grown by this share."""


@dataclass(slots=True)
class _Lesson:
    """A model, the step at which it was fitted, and its last forecast."""

    model: Model
    step: int
    forecast_step: int = -1
    quantile: float = math.nan
    load: float | None = None


class Forecasts:
    """Keeps a model of each load; `clock` measures the seconds that fitting takes."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._lessons: dict[Hashable, _Lesson] = {}
        self._clock = clock
        self._seconds_left = 0.0

    def allow(self, seconds: float) -> None:
        """Set the fitting time until the next call; a fit in progress is finished."""
        self._seconds_left = seconds

    def quantile(
        self, key: Hashable, series: LoadSeries, horizon: Horizon, share: float
    ) -> float | None:
        """The load that is not exceeded with this probability; None if unknown."""
        step = series.step
        if step is None or np.isfinite(series.loads).sum() < LEAST_KNOWN:
            return None
        lesson = self._lesson(key, series, horizon, step)
        if lesson is None:
            return None
        if (lesson.forecast_step, lesson.quantile) != (step, share):
            lesson.forecast_step, lesson.quantile = step, share
            lesson.load = _forecast(lesson.model, series, share)
        return lesson.load

    def forget(self, key: Hashable) -> None:
        """Forget one load's model."""
        self._lessons.pop(key, None)

    def keep(self, keys: Iterable[Hashable]) -> None:
        """Forget all but these."""
        kept = set(keys)
        self._lessons = {key: each for key, each in self._lessons.items() if key in kept}

    def _lesson(
        self, key: Hashable, series: LoadSeries, horizon: Horizon, step: int
    ) -> _Lesson | None:
        lesson = self._lessons.get(key)
        if lesson is not None and lesson.model.horizon != horizon:
            lesson = None
        stale = min(MOST_STALE, max(1, len(series.loads) // STALE_SHARE))
        is_due = lesson is None or step - lesson.step >= stale
        if is_due and self._seconds_left > 0:
            started = self._clock()
            model = learned(History.of(series.loads, STEP_SECONDS), horizon)
            lesson = self._lessons[key] = _Lesson(_untried(model), step)
            self._seconds_left -= self._clock() - started
        return lesson


def horizon_of(start: timedelta, horizon: timedelta) -> Horizon:
    """From when replicas started now could be ready, to the horizon."""
    first, last = (max(1, math.ceil(time / _STEP)) for time in (start, horizon))
    return Horizon(first, max(1, last - first + 1))


_STEP: Final = timedelta(seconds=STEP_SECONDS)
_NONE: Final = np.empty(0)


def _untried(model: Model) -> Model:
    """The model without its backtest, which is ten times as large and only needed for prices."""
    return replace(model, trial=Trial(_NONE, _NONE, _NONE, _NONE, model.shape, model.floor))


def _forecast(model: Model, series: LoadSeries, share: float) -> float | None:
    """None without recent load. Loads below the model's floor all count as nothing."""
    found = model.forecast(History.of(series.loads, STEP_SECONDS))
    load = found.quantile(share) if found is not None else math.nan
    if not math.isfinite(load):
        return None
    return load if load >= model.floor else 0.0
