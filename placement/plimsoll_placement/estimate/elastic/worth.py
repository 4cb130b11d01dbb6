"""What each size is worth to a job, and what a change costs: fair, with short jobs first.

The worth of a size is `weight x (speed^fairness / fairness - price x GPUs)`, where the speed is its
rate over the slowest rate with least replicas:

- the power is a fairness between proportional (0) and none (1) (Mo and Walrand, 2000): a GPU goes
  where it speeds a job up most, so that jobs that scale get more, and none is starved;
- the weight falls with the work that is left, as shorter jobs go first where all completion times
  count alike (Berg et al., "heSRPT", 2020): `(hours left on one GPU) ^ -shortness`, with a floor,
  so that the longest jobs do not pay for all others;
- the price keeps a job from growing for next to nothing.

A change stops the job for the duration of its restart, S. A size is expected to be kept for as long
as the present one was, T, but for no more than a horizon and the job's remaining time there: so
S + T is what the change is for, and `T / (S + T)` of the speed is left. What was just changed is
changed again only for much, and a job that has yet to begin where it is, for next to nothing: it
would pay for two restarts in a row.
"""

from dataclasses import dataclass

from plimsoll_placement.estimate.elastic.prospect import Prospect
from plimsoll_placement.estimate.throughput.curves import Size


@dataclass(frozen=True, slots=True)
class WorthTerms:
    """The constants of the rule; the same for all jobs, clusters and workloads.

    `fairness`: the power of the speed in its worth, above 0 and at most 1.
    `shortness`: how strongly jobs with little left are preferred; 0 not at all. `least_weight`: the
    weight of the longest jobs.
    `unit_seconds`: the work on one GPU at which the weight is 1.
    `gpu_price`: the worth that one more GPU must bring.
    `most_horizon_seconds`: the longest that any size is expected to be kept.
    """

    fairness: float = 0.3
    shortness: float = 0.25
    least_weight: float = 0.7
    unit_seconds: float = 3600.0
    gpu_price: float = 0.06
    most_horizon_seconds: float = 3600.0


LEAST_SECONDS = 30.0
"""Less work left than this counts as this much: nothing is planned in less time."""

FUTILE = 1e-3
"""The least share of its speed that a size keeps after a restart."""

MOST_SPEED = 1e6
"""A size stated to be faster than the slowest by more than this is worth no more for it."""


def weight(prospect: Prospect, terms: WorthTerms) -> float:
    """How much a job's speed counts, by what it has left on one GPU of its slowest type."""
    left = prospect.expected_left
    if left is None:
        return 1.0
    seconds = max(left / prospect.slowest, LEAST_SECONDS)
    return max((seconds / terms.unit_seconds) ** -terms.shortness, terms.least_weight)


def worths(prospect: Prospect, terms: WorthTerms) -> dict[Size, float]:
    """What each size is worth to a job from now on; empty without a rate.

    For a running job, any other size is worth what it comes to after the restart.
    """
    weighs, slowest = weight(prospect, terms), prospect.slowest
    return {
        size: weighs
        * (
            _worth_of(_share_kept(prospect, size, terms) * rate / slowest, terms)
            - terms.gpu_price * size[1]
        )
        for size, rate in prospect.rates.items()
        if rate > 0
    }


def move_cost(prospect: Prospect, terms: WorthTerms) -> float:
    """What it costs a running job to continue elsewhere at the same size; 0 if it does not run."""
    rate = prospect.rates.get(prospect.running, 0.0) if prospect.running else 0.0
    if rate <= 0:
        return 0.0
    speed = rate / prospect.slowest
    kept = _share_after_restart(prospect, rate, terms)
    return weight(prospect, terms) * (_worth_of(speed, terms) - _worth_of(speed * kept, terms))


def _share_kept(prospect: Prospect, size: Size, terms: WorthTerms) -> float:
    if prospect.running is None or prospect.running == size:
        return 1.0
    return _share_after_restart(prospect, prospect.rates[size], terms)


def _share_after_restart(prospect: Prospect, rate: float, terms: WorthTerms) -> float:
    """The share of the time for which a size is expected to be kept in which the job trains."""
    if prospect.restart_seconds <= 0:
        return 1.0
    trains = 0.0 if prospect.is_starting else prospect.stayed_seconds
    trains = min(trains, terms.most_horizon_seconds)
    if prospect.left is not None:
        trains = min(trains, prospect.left / rate)
    return max(trains / (prospect.restart_seconds + trains), FUTILE)


def _worth_of(speed: float, terms: WorthTerms) -> float:
    return min(speed, MOST_SPEED) ** terms.fairness / terms.fairness
