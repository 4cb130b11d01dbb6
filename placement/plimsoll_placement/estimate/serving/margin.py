"""Correct what replicas are believed to carry until no more requests are late than may be.

What fits most looks may break the promise in the others: when requests come in bursts, or few
replicas serve them. So each look changes a factor by how many were late beyond what may be, as in
adaptive conformal inference (Gibbs and Candès, NeurIPS 2021): in the long run the promised share is
kept whatever makes requests late, as far as the load stays within what is believed.
"""

import math
from dataclasses import dataclass
from typing import Final

from plimsoll_placement.estimate.serving.capacity import MOST_CHANGE

STEP_PER_MINUTE = 0.5
"""The logarithm by which a minute changes the factor if all were late and none may be."""
MOST_LATE = 0.3
"""More than this share counts as this: a single bad minute may have a reason of its own."""
LEAST, MOST = 1 / MOST_CHANGE, 1.25
NEAR = 0.7
"""At less than this share of what is believed, that none was late is no evidence of more."""
MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Lateness:
    """The share of requests that missed the objective, and what share may; from 0 to 1."""

    share: float
    allowed: float


def margin_after(margin: float, lateness: Lateness, load: float, seconds: float) -> float:
    """The factor after a look of so many seconds.

    `load`: what the replicas served, over what they were believed to carry. A look counts by its
    requests; above 1 it does not: too few replicas are no reason to believe that each carries less.
    """
    over = min(lateness.share, MOST_LATE) - lateness.allowed
    if load > 1 or (over < 0 and load < NEAR):
        return margin
    step = STEP_PER_MINUTE * over * load * seconds / MINUTE
    return min(max(margin * math.exp(-step), LEAST), MOST)
