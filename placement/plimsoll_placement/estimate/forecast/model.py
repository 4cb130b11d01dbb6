"""What one job's history teaches, and its forecast: a distribution, not a point.

The logarithm of the load to expect is the last known one's, plus its centre (`centre.py`); to that
load comes an error, by the width of errors of late (`width.py`) and the load (`shape.py`). All are
shrunk towards what is right with no history at all: the last load, as uncertain as loads have been
of late.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.forecast.centre import learned_centre, regressors
from plimsoll_placement.estimate.forecast.distribution import Forecast
from plimsoll_placement.estimate.forecast.history import DAY_SECONDS, Floats, History
from plimsoll_placement.estimate.forecast.regressors import (
    Horizon,
    Spans,
    lookback,
    targets,
    unrest,
)
from plimsoll_placement.estimate.forecast.shape import Shape, learned_shape
from plimsoll_placement.estimate.forecast.smoothing import believed, last_known
from plimsoll_placement.estimate.forecast.trial import Trial
from plimsoll_placement.estimate.forecast.width import Width, learned_width

HALF_LIFE_SECONDS = 14 * DAY_SECONDS
"""Observations this old count half."""
BLOCK_SECONDS = DAY_SECONDS / 4
"""What is unserved within this time is assumed to have one cause."""
FARTHEST = 3.0
"""No load is assumed to grow or shrink by more than e to this power."""
RECORD = 1.5
"""No load is assumed to exceed the highest ever seen by more than this factor."""
SMALLEST_SHARE = 0.02
"""Loads below this share of the mean are alike: it is added before taking logarithms."""
_LEAST_LOAD = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What was learned of a job's load at one horizon.

    `floor` is added to loads before taking logarithms, and `trial` says how the model would have
    done on what it was learned from.
    """

    horizon: Horizon
    floor: float
    centre: Floats
    width: Width
    shape: Shape
    trial: Trial

    def forecast(self, history: History) -> Forecast | None:
        """The forecast from the end of a history, possibly a longer one than taught the model.

        None if no recent load is known.
        """
        counted, spans = (
            lookback(history.step_seconds, self.horizon),
            Spans.of(history.step_seconds),
        )
        logs = np.log(believed(history.loads[-counted:]) + self.floor)
        first = max(0, len(logs) - spans.memory - self.horizon.steps)
        late = logs[first:]
        if not np.isfinite(late).any():
            return None
        centre = regressors(logs, history.step_seconds, self.horizon, first) @ self.centre
        errors = targets(late, self.horizon) - centre
        width = self.width.at(unrest(late, errors, spans, self.horizon)[-1:])[0]
        last = float(np.exp(last_known(late)[-1]))
        expected = last * float(np.exp(np.clip(centre[-1], -FARTHEST, FARTHEST)))
        errors = self.shape.at(expected, width) * _staleness(late, self.horizon)
        record = RECORD * float(np.nanmax(history.loads)) + self.floor
        most = min(last * float(np.exp(FARTHEST)), record)
        return Forecast(np.maximum(np.minimum(expected + errors, most) - self.floor, 0.0))


def learned(history: History, horizon: Horizon) -> Model:
    """What a history teaches about loads at this horizon."""
    spans, floor = Spans.of(history.step_seconds), _floor(history.loads)
    logs = np.log(believed(history.loads) + floor)
    weights = _weights(len(logs), history.step_seconds)
    wanted = targets(logs, horizon)
    rows = regressors(logs, history.step_seconds, horizon)
    centre = learned_centre(rows, wanted, weights, without=len(spans.levels))
    errors = wanted - centre.left_out
    restless = unrest(logs, errors, spans, horizon)
    width, widths = learned_width(restless, errors, weights, recent=len(spans.unrest))
    centres, came = last_known(logs) + centre.left_out, np.exp(wanted + last_known(logs))
    expected = np.exp(centres)
    shape = learned_shape(came - expected, expected, widths, weights)
    block = max(1, history.steps_in(BLOCK_SECONDS))
    trial = Trial(centres, widths, came - floor, weights, shape, floor, block)
    return Model(horizon, floor, centre.coefficients, width, shape, trial)


def forecast(history: History, horizon: Horizon) -> Forecast | None:
    """The forecast by what this history itself teaches; None if no recent load is known."""
    return learned(history, horizon).forecast(history)


def _floor(loads: Floats) -> float:
    known = loads[np.isfinite(loads)]
    return max(SMALLEST_SHARE * float(known.mean()) if len(known) else 0.0, _LEAST_LOAD)


def _weights(steps: int, step_seconds: float) -> Floats:
    ages = np.arange(steps, dtype=np.float64)[::-1] * step_seconds
    return np.exp2(-ages / HALF_LIFE_SECONDS)


def _staleness(late: Floats, horizon: Horizon) -> float:
    """How much an old last load widens a forecast: errors grow with the root of time."""
    age = len(late) - 1 - int(np.flatnonzero(np.isfinite(late))[-1])
    return float(np.sqrt(1 + age / horizon.steps))
