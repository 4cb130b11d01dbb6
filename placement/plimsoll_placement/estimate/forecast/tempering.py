"""Decide how far the widths of forecasts may differ: as far as that has paid off.

Some loads are calm until they jump, without warning. There a forecast that is narrow in calm
periods fails, and widths that differ less are better. Whichever would have predicted the quantiles
that capacity depends on better is used.
"""

from dataclasses import replace

import numpy as np

from plimsoll_placement.estimate.forecast.trial import Trial
from plimsoll_placement.estimate.forecast.width import Width

POWER = 2 / 3
"""The power to which widths are taken if they are tempered."""
TRIED_SHARE = 0.98
"""The quantile that decides: what is unserved lies beyond it."""


def tempered(width: Width, trial: Trial) -> tuple[Width, Trial]:
    """These widths and their trial, or the same tempered, whichever does better."""
    if len(trial.widths) == 0:
        return width, trial
    typical = float(np.exp(np.average(np.log(trial.widths), weights=trial.weights)))
    drawn = replace(width, typical=typical, power=POWER)
    other = trial.with_widths(drawn.tempered(trial.widths))
    if other.loss(TRIED_SHARE) < trial.loss(TRIED_SHARE):
        return drawn, other
    return width, trial
