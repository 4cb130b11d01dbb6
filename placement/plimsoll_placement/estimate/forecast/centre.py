"""How far the load will rise above the last known one: level, trend and season.

The season is trusted as far as it has been right: predictions with it and without it are mixed in
the proportion that would have been best, where each was learned at other times.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll_placement.estimate.forecast.history import Floats
from plimsoll_placement.estimate.forecast.regression import ridge, share_of_second
from plimsoll_placement.estimate.forecast.regressors import Horizon, Spans, levels, seasons

LEVEL_STRENGTH = 30.0
SEASON_STRENGTH = 100.0
"""How many steps of evidence the regressions need to be half trusted."""


@dataclass(frozen=True, slots=True, eq=False)
class Centre:
    """The coefficients of `regressors`, and for each step the prediction learned at other times."""

    coefficients: Floats
    left_out: Floats


def regressors(logs: Floats, step_seconds: float, horizon: Horizon, first: int = 0) -> Floats:
    """What is known at each step from `first` on, one row each."""
    level = levels(logs[first:], Spans.of(step_seconds))
    return np.hstack([level, seasons(logs, step_seconds, horizon, first)])


def learned_centre(rows: Floats, wanted: Floats, weights: Floats, *, without: int) -> Centre:
    """What is learned of targets; the first `without` regressors are those without the season."""
    strength = np.full(rows.shape[1], SEASON_STRENGTH)
    strength[:without] = LEVEL_STRENGTH
    prior, level = np.zeros(rows.shape[1]), rows[:, :without]
    plain = ridge(level, wanted, weights, prior=prior[:without], strength=strength[:without])
    whole = ridge(rows, wanted, weights, prior=prior, strength=strength)
    first, second = plain.left_out(level), whole.left_out(rows)
    share = share_of_second(first, second, wanted, weights)
    coefficients = share * whole.coefficients
    coefficients[:without] += (1 - share) * plain.coefficients
    return Centre(coefficients, (1 - share) * first + share * second)
