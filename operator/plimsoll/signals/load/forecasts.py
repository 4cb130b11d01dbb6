"""Forecasts of loads from their histories: learned now and then, made anew with each step.

Learning takes a hundred times as long as a forecast, so each look has so much time for it and no
more; who is not learned yet has no forecast.
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
"""Half an hour: with less the load of late says as much."""
MOST_STALE: Final = 30
"""After how many steps, an hour, at the latest is learned again."""
STALE_SHARE: Final = 8
"""While little is known, after this part of it."""


@dataclass(slots=True)
class _Lesson:
    """What was learned at which step, and the last forecast made of it."""

    model: Model
    step: int
    forecast_step: int = -1
    quantile: float = math.nan
    load: float | None = None


class Forecasts:
    """Remembers what was learned of each load; `clock` tells the seconds that learning takes."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._lessons: dict[Hashable, _Lesson] = {}
        self._clock = clock
        self._seconds_left = 0.0

    def allow(self, seconds: float) -> None:
        """Learn for so long, until this is said again; what was begun is finished."""
        self._seconds_left = seconds

    def quantile(
        self, key: Hashable, series: LoadSeries, horizon: Horizon, share: float
    ) -> float | None:
        """The load that will not be exceeded with this probability; None if that is not known."""
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
        """Forget what was learned of one."""
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
    """From when replicas could be ready that are started now, until the horizon."""
    first, last = (max(1, math.ceil(time / _STEP)) for time in (start, horizon))
    return Horizon(first, max(1, last - first + 1))


_STEP: Final = timedelta(seconds=STEP_SECONDS)
_NONE: Final = np.empty(0)


def _untried(model: Model) -> Model:
    """The model without the trial of it, which is ten times as large and tells prices only."""
    return replace(model, trial=Trial(_NONE, _NONE, _NONE, _NONE, model.shape, model.floor))


def _forecast(model: Model, series: LoadSeries, share: float) -> float | None:
    """None if no load is known of late. Below the model's floor all loads are alike: nothing."""
    found = model.forecast(History.of(series.loads, STEP_SECONDS))
    load = found.quantile(share) if found is not None else math.nan
    if not math.isfinite(load):
        return None
    return load if load >= model.floor else 0.0
