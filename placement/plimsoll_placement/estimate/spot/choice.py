"""The choices that a job with a deadline has in a step without risking being late.

A job may run on spot, run on on-demand, or wait. Starting on either side, and changing from one to
the other, first takes the overhead. On-demand capacity is assumed to be available at any time: so a
choice is safe if on-demand alone still finishes in time after it, even if spot is gone by then.
"""

import math
from dataclasses import dataclass
from enum import Enum

_ROUNDING = 1e-9


class Choice(Enum):
    """Where a job is during a step."""

    WAIT = "Wait"
    SPOT = "Spot"
    ON_DEMAND = "OnDemand"


@dataclass(frozen=True, slots=True)
class SpotTerms:
    """The constants of a job: seconds of a step, seconds of a start, and dollars per hour."""

    step_seconds: float
    overhead_seconds: float
    spot_price: float
    on_demand_price: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A job's situation at the beginning of a step.

    `on` is where it was and still could be: WAIT after an interruption. `overhead_seconds` is what
    is left of its last start.
    """

    work_seconds: float
    seconds_left: float
    on: Choice = Choice.WAIT
    overhead_seconds: float = 0.0

    def overhead_of(self, choice: Choice, terms: SpotTerms) -> float:
        """The seconds of overhead before any work if this is chosen."""
        return self.overhead_seconds if choice is self.on else terms.overhead_seconds


def safe_choices(standing: Standing, terms: SpotTerms, *, spot_is_up: bool) -> tuple[Choice, ...]:
    """The choices after which on-demand alone still ends in time; on-demand itself always is one.

    A job that is late already has no other choice.
    """
    step = terms.step_seconds
    later = standing.seconds_left - step
    safe = [Choice.ON_DEMAND]
    if spot_is_up:
        worked = max(0.0, step - standing.overhead_of(Choice.SPOT, terms))
        if ends_in_time(standing.work_seconds - worked, later, terms):
            safe.append(Choice.SPOT)
    if ends_in_time(standing.work_seconds, later, terms):
        safe.append(Choice.WAIT)
    return tuple(safe)


def ends_in_time(work_seconds: float, seconds_left: float, terms: SpotTerms) -> bool:
    """Whether on-demand alone, newly started, does the work in the whole steps that are left."""
    if work_seconds <= _ROUNDING:
        return seconds_left > -_ROUNDING
    steps_left = math.floor(seconds_left / terms.step_seconds + _ROUNDING)
    seconds = work_seconds + terms.overhead_seconds
    return math.ceil(seconds / terms.step_seconds - _ROUNDING) <= steps_left
