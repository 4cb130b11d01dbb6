"""What is each size worth to a job, and what does it cost to change? Fair, short jobs first.

The worth of a size is `weight x (1 + log(rate / slowest rate))`, less a price for each GPU:

- the logarithm is proportional fairness (Kelly, 1998): a GPU goes where it speeds up a job most in
  proportion, so that no job is starved and none holds GPUs that hardly help it;
- the weight falls with the work that is left, as shorter jobs go first where all completion times
  count alike (Berg et al., "heSRPT", 2020): `(hours left on one GPU) ^ -shortness`;
- the price keeps a job from growing for next to nothing.

A change stops the job for its restart. It must pay back within the time that the job still takes,
and within a horizon, since others come and go: of a horizon of H seconds a restart of S leaves
`1 - S/H`, so that a change costs `-weight x log(1 - S/H)`, and is never made where S >= H.
"""

import math
from dataclasses import dataclass

from plimsoll_placement.elastic.prospect import Prospect, Size


@dataclass(frozen=True, slots=True)
class Terms:
    """The constants of the rule; the same for all jobs, clusters and workloads.

    `shortness`: how strongly jobs with little left are preferred; 0 not at all.
    `horizon_seconds`: within which a change has to pay back.
    `gpu_price`: by how much (as a part of a doubling's natural logarithm) one GPU more must speed
    up a job of weight 1.
    `unit_seconds`: of how much work on one GPU the weight is 1.
    """

    shortness: float = 0.25
    horizon_seconds: float = 1200.0
    gpu_price: float = 0.003
    unit_seconds: float = 3600.0


LEAST_SECONDS = 30.0
"""Below this, what is left counts as this much: nothing is planned in less."""

FUTILE = 1e-3
"""The part of a horizon that counts as left where a restart takes longer than it."""


def weight(prospect: Prospect, terms: Terms) -> float:
    """How much a job's speed counts, by what it has left on one GPU of its slowest type."""
    left = prospect.expected_left
    if left is None:
        return 1.0
    seconds = max(left / prospect.slowest, LEAST_SECONDS)
    return (seconds / terms.unit_seconds) ** -terms.shortness


def worths(prospect: Prospect, terms: Terms) -> dict[Size, float]:
    """What each size is worth to a job, were it running at it already; none without a rate."""
    weighs, slowest = weight(prospect, terms), prospect.slowest
    return {
        size: weighs * (1.0 + math.log(rate / slowest)) - terms.gpu_price * size[1]
        for size, rate in prospect.rates.items()
        if rate > 0
    }


def change_cost(prospect: Prospect, terms: Terms) -> float:
    """What any change of a running job costs, in the unit of worth."""
    horizon = terms.horizon_seconds
    rate = prospect.rates.get(prospect.running, 0.0) if prospect.running else 0.0
    if prospect.left is not None and rate > 0:
        horizon = min(horizon, prospect.left / rate)
    left = 1.0 - prospect.restart_seconds / horizon if horizon > 0 else FUTILE
    return -weight(prospect, terms) * math.log(max(left, FUTILE))
