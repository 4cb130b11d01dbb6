"""How far are the widths of forecasts told apart? As far as it has paid.

Some loads are calm until they leap, and nothing tells when. There a forecast that is narrow in calm
is caught out, and widths that differ less are better; by which the quantiles that capacity goes by
were told better is believed.
"""

from dataclasses import replace

import numpy as np

from plimsoll_placement.estimate.forecast.trial import Trial
from plimsoll_placement.estimate.forecast.width import Width

POWER = 2 / 3
"""What widths are taken to if they are tempered."""
TRIED_SHARE = 0.98
"""The quantile by which is told: what is unserved lies beyond it."""


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
