"""What of the past may predict the load to come: its level, trend, season and volatility.

Everything is in logarithms, relative to the last known load, and known at its step.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plimsoll_placement.estimate.forecast.history import DAY_SECONDS, Floats
from plimsoll_placement.estimate.forecast.smoothing import averages, highest, last_known, shifted

HOUR_SECONDS = 3600.0
PERIODS = ((HOUR_SECONDS, 24), (DAY_SECONDS, 7), (7 * DAY_SECONDS, 1))
"""Periods that may recur, in seconds, and over how many recurrences to average."""
LEVEL_SECONDS = 4 * HOUR_SECONDS
UNREST_SECONDS = 12 * HOUR_SECONDS
RANGE_SECONDS = 6 * HOUR_SECONDS
"""The longest look-back for averages of the level, for past errors and for the recent maximum."""
SEASON_SMOOTHED_SECONDS = 600.0
SMOOTHED_FROM = 100
"""A recurrence is averaged with its surroundings; a period spans this many times that reach."""
FIRST_ERROR = 0.1
"""The assumed error before any is seen."""


Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Horizon:
    """The load wanted: the highest of `hold` steps, the first of them `lead` steps ahead."""

    lead: int
    hold: int = 1

    @property
    def steps(self) -> int:
        """How many steps ahead the last of them is."""
        return self.lead + self.hold - 1


@dataclass(frozen=True, slots=True)
class Spans:
    """Half-lives and widths in steps, from a few steps to some hours."""

    levels: tuple[float, ...]
    unrest: tuple[float, ...]
    ranges: tuple[int, ...]

    @classmethod
    def of(cls, step_seconds: float) -> "Spans":
        """The spans for a step."""
        return cls(
            levels=_ladder(2, 3.5, LEVEL_SECONDS / step_seconds),
            unrest=_ladder(3, 4.5, UNREST_SECONDS / step_seconds),
            ranges=tuple(round(each) for each in _ladder(6, 6, RANGE_SECONDS / step_seconds)),
        )

    @property
    def memory(self) -> int:
        """After how many steps earlier values hardly count any more."""
        return round(5 * max(*self.levels, *self.unrest) + max(self.ranges))


def lookback(step_seconds: float, horizon: Horizon) -> int:
    """How many of the latest steps a forecast is made from; earlier ones do not matter."""
    farthest = horizon.steps
    for seconds, returns in PERIODS:
        period, reach = _season(seconds, step_seconds)
        farthest = max(farthest, horizon.steps + 2 * reach + period * returns)
    return Spans.of(step_seconds).memory + horizon.steps + farthest


def _ladder(first: float, ratio: float, most: float) -> tuple[float, ...]:
    rungs = 1 + int(np.log(max(1.0, most / first)) / np.log(ratio) + 0.1)
    return tuple(first * ratio**rung for rung in range(rungs))


def targets(logs: Floats, horizon: Horizon) -> Floats:
    """How far the wanted load is above the last known one; NaN where it is not known yet."""
    return shifted(highest(logs, horizon.hold), -horizon.steps) - last_known(logs)


def levels(logs: Floats, spans: Spans) -> Floats:
    """Averages over several periods, relative to the last load, one column each."""
    return np.nan_to_num(averages(logs, spans.levels) - last_known(logs)).T


def seasons(logs: Floats, step_seconds: float, horizon: Horizon, first: int = 0) -> Floats:
    """For each period, what was at this place before, from the step `first` on.

    Two columns each: how much it then changed over the horizon, and how far it then was from where
    the load is now. Zero where nothing is known.
    """
    now = averages(logs[first:], (2.0,))[0]
    found = np.zeros((2 * len(PERIODS), len(now)))
    for each, (seconds, returns) in enumerate(PERIODS):
        period, reach = _season(seconds, step_seconds)
        if period <= 1 or len(logs) <= period + horizon.steps:
            continue
        lags = period * (-(-(horizon.steps + reach) // period) + np.arange(returns))
        seen = _means(logs, first - reach, len(logs) + horizon.steps + reach, lags)
        before = _smoothed(seen, reach)
        ahead, then = before[horizon.steps :], before[: len(now)]
        found[2 * each : 2 * each + 2] = ahead - then, ahead - now
    return np.nan_to_num(found.T)


def unrest(logs: Floats, errors: Floats, spans: Spans, horizon: Horizon) -> Floats:
    """What predicts how far a forecast may be off, one column each.

    First, for each half-life, how far recent forecasts were off, by the errors of those made at
    each step; then how far the load is below its recent maxima, above its recent minimum and from
    its averages.
    """
    seen = shifted(np.abs(errors), horizon.steps)
    now = last_known(logs)
    columns = [*averages(seen, spans.unrest, before=FIRST_ERROR)]
    columns += [highest(now, width) - now for width in spans.ranges]
    columns.append(now + highest(-now, spans.ranges[-1]))
    means = averages(logs, (spans.levels[0], spans.levels[-1]))
    return np.nan_to_num(np.array([*columns, *np.abs(means - now)]).T)


def _whole_steps(seconds: float, step_seconds: float) -> int:
    """A period in steps, 0 if it is not a whole number of steps."""
    steps = round(seconds / step_seconds)
    return steps if abs(steps * step_seconds - seconds) <= seconds / 1e6 else 0


def _season(seconds: float, step_seconds: float) -> tuple[int, int]:
    """A period, and how far around a recurrence to average, in steps."""
    period, reach = _whole_steps(seconds, step_seconds), SEASON_SMOOTHED_SECONDS / step_seconds / 2
    return period, round(reach) if period >= SMOOTHED_FROM * round(reach) else 0


def _smoothed(values: Floats, reach: int) -> Floats:
    """The mean of what is known within `reach` steps, without the first and last `reach` steps."""
    seen = np.isfinite(values)
    sums = np.zeros((2, len(values) + 1))
    np.cumsum([np.where(seen, values, 0.0), seen], axis=1, out=sums[:, 1:])
    known, counts = sums[:, 2 * reach + 1 :] - sums[:, : len(values) - 2 * reach]
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, known, np.nan) / counts


def _means(values: Floats, first: int, end: int, lags: Ints) -> Floats:
    """The mean of what was known at these lags before each of the steps from `first` to `end`."""
    sums, counts = np.zeros(end - first), np.zeros(end - first)
    seen = np.isfinite(values)
    known = np.where(seen, values, 0.0)
    for lag in lags:
        start, stop = max(first - lag, 0), min(end - lag, len(values))
        if start < stop:
            into = slice(start - first + lag, stop - first + lag)
            sums[into] += known[start:stop]
            counts[into] += seen[start:stop]
    with np.errstate(invalid="ignore"):
        return sums / counts
