"""The policy that costs least on average if one knows the process of spot, but not its future.

Bellman's equation, backwards from the deadline, exactly: over the state of the process, where the
job is, and the work left in units into which ticks and starts divide. To be late costs so much that
no chance of it is taken.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll_bench.spot.clairvoyant import stages_of
from plimsoll_bench.spot.process import Draw, Process
from plimsoll_bench.spot.series import TICK_SECONDS, WORK_SECONDS
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing

Dollars = NDArray[np.float32]
"""By state of the process and units of work left, and between them, where it says so, by place:
0 is nowhere, then come the stages of a run on spot, then those of one on on-demand."""
Choices = NDArray[np.uint8]
"""Indices into `CHOICES`, by state, place and units of work left."""

CHOICES = (Choice.ON_DEMAND, Choice.WAIT, Choice.SPOT)
_LATE_DOLLARS = 1e6


@dataclass(frozen=True)
class Units:
    """A job's terms, in units of work."""

    seconds: int
    overhead: int
    stages: tuple[int, ...]
    """Units of work in the ticks since a start; the last goes on for ever."""
    spot_price: float
    """Dollars of a tick."""
    on_demand_price: float

    @classmethod
    def of(cls, terms: SpotTerms) -> "Units":
        """The units for these terms."""
        seconds = math.gcd(round(TICK_SECONDS), round(terms.overhead_seconds))
        overhead = round(terms.overhead_seconds) // seconds
        stages = stages_of(round(TICK_SECONDS) // seconds, overhead)
        prices = [each * TICK_SECONDS / 3600 for each in (terms.spot_price, terms.on_demand_price)]
        return cls(seconds, overhead, tuple(stages), *prices)

    def of_work(self, seconds: float) -> int:
        """So much work."""
        return round(seconds / self.seconds)

    def place(self, standing: Standing) -> int:
        """Where a job is."""
        if standing.on is Choice.WAIT:
            return 0
        stage = len(self.stages) - 1 - math.ceil(standing.overhead_seconds / TICK_SECONDS - 1e-9)
        return self.first(standing.on) + stage

    def first(self, choice: Choice) -> int:
        """The place at the beginning of a run."""
        return 1 if choice is Choice.SPOT else 1 + len(self.stages)

    def paid(self, after: Dollars, worked: int, price: float) -> Dollars:
        """The cost of a tick of so many units of work and of what is `after` it."""
        costs, tick = np.empty_like(after), self.stages[-1]
        costs[:, worked:] = price + after[:, : after.shape[1] - worked]
        costs[:, : worked + 1] = price * (tick - worked + np.arange(worked + 1)) / tick
        costs[:, 0] = 0
        return costs


def best_choices(process: Process, terms: SpotTerms, ticks: int) -> list[Choices]:
    """What to choose, by the ticks left, of which the first has one."""
    units = Units.of(terms)
    places = 1 + 2 * len(units.stages)
    values = np.full(
        (len(process.up), places, units.of_work(WORK_SECONDS) + 1), _LATE_DOLLARS, dtype=np.float32
    )
    values[..., 0] = 0
    moves, found = process.moves.astype(np.float32), list[Choices]()
    for _ in range(ticks):
        tick = _Tick(np.tensordot(moves, values, axes=1), units, process.up)
        values = tick.values
        found.append(tick.choices)
    return found


class _Tick:
    """The least costs of a tick and what follows it, and the choices that bring them."""

    def __init__(self, coming: Dollars, units: Units, up: NDArray[np.bool_]) -> None:
        self._coming, self._units, self._up = coming, units, up
        self.values: Dollars = np.full_like(coming, np.inf)
        self.choices: Choices = np.zeros(coming.shape, dtype=np.uint8)
        anew = slice(None)
        self._offer(anew, Choice.WAIT, coming[:, 0])
        for choice in (Choice.ON_DEMAND, Choice.SPOT):
            self._offer(anew, choice, self._paid(choice, 0))
            for stage in range(1, len(units.stages)):
                self._offer(units.first(choice) + stage, choice, self._paid(choice, stage))

    def _paid(self, choice: Choice, stage: int) -> Dollars:
        units = self._units
        then = units.first(choice) + min(stage + 1, len(units.stages) - 1)
        after, worked = self._coming[:, then], units.stages[stage]
        if choice is Choice.ON_DEMAND:
            return units.paid(after, worked, units.on_demand_price)
        costs = units.paid(after, worked, units.spot_price)
        return np.where(self._up[:, None], costs, np.float32(np.inf))

    def _offer(self, places: int | slice, choice: Choice, costs: Dollars) -> None:
        """Choose this at these places where it costs less."""
        values, chosen = self.values[:, places], self.choices[:, places]
        offered = costs if isinstance(places, int) else costs[:, None]
        better = offered < values
        np.copyto(values, offered, where=better)
        np.copyto(chosen, np.uint8(CHOICES.index(choice)), where=better)


class Knowing:
    """Follows the best choices through states that it sees one by one."""

    def __init__(self, choices: Sequence[Choices], terms: SpotTerms, states: Draw) -> None:
        self._choices, self._units, self._states = choices, Units.of(terms), iter(states)

    def choice(self, standing: Standing, *, spot_is_up: bool) -> Choice:  # noqa: ARG002 - the state says so
        """Where to be in this tick."""
        units, left = self._units, round(standing.seconds_left / TICK_SECONDS)
        work = units.of_work(standing.work_seconds)
        found = self._choices[left - 1][next(self._states), units.place(standing), work]
        return CHOICES[int(found)]
