"""What the rest of a job will cost, for each model of spot and each state of the job.

Bellman's equation, backwards from the deadline. The state is the steps left, the steps of work
left, whether spot is up and for how long, and where the job is: nowhere, or on spot or on-demand
this many steps after its start. Work is counted in whole steps and interpolated between them.
Lateness is expensive here, not forbidden: `choice` ensures that no choice can make a job late.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plimsoll_bench.spot.runs import BUCKETS, UP, Floats, growing
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms

Table = NDArray[np.float32]
"""Dollars by model, side, bucket, mode and steps of work left; see `Stages` for the modes."""

LATE_PRICE = 3.0
"""What a late step costs over one of on-demand."""
SECONDS_PER_HOUR = 3600


@dataclass(frozen=True)
class Stages:
    """The modes of a job: 0 nowhere, then the stages of a run on spot, then those on-demand."""

    terms: SpotTerms

    @cached_property
    def progress(self) -> tuple[float, ...]:
        """The share of a step that is work, by steps since the start; the last goes on for ever."""
        left, shares = self.terms.overhead_seconds / self.terms.step_seconds, list[float]()
        while left > 0:
            shares.append(max(0.0, 1 - left))
            left = max(0.0, left - 1)
        return (*shares, 1.0)

    @property
    def count(self) -> int:
        """How many stages a run has."""
        return len(self.progress)

    @property
    def modes(self) -> int:
        """How many modes there are."""
        return 1 + 2 * self.count

    def first(self, choice: Choice) -> int:
        """The mode of the first step after a start."""
        return {Choice.WAIT: 0, Choice.SPOT: 1, Choice.ON_DEMAND: 1 + self.count}[choice]

    def mode(self, choice: Choice, overhead_seconds: float) -> int:
        """The mode of a step in which this much of the overhead is still to come."""
        if choice is Choice.WAIT:
            return 0
        steps = math.ceil(overhead_seconds / self.terms.step_seconds - 1e-9)
        return self.first(choice) + self.count - 1 - min(steps, self.count - 1)


class Outlook:
    """The costs of each choice, for jobs of at most this many steps of work and steps left."""

    def __init__(self, hazards: Floats, terms: SpotTerms, *, work_steps: int, steps: int) -> None:
        self.stages = Stages(terms)
        self._hazards = hazards.astype(np.float32)[..., None, None]
        self._growing = growing().astype(np.float32)[:, None, None]
        hours = terms.step_seconds / SECONDS_PER_HOUR
        self._prices = (terms.spot_price * hours, terms.on_demand_price * hours)
        late = np.arange(work_steps + 2, dtype=np.float32) * (LATE_PRICE * self._prices[1])
        shape = (len(hazards), 2, BUCKETS, self.stages.modes, work_steps + 2)
        values = np.broadcast_to(late, shape)
        self._costs: list[Table] = [values.astype(np.float32)]
        for left in range(1, steps + 1):
            costs = self._with_a_step_more(values)
            # With more work than steps there is only one choice, whose cost is not needed.
            self._costs.append(costs[..., : left + 2].copy())
            values = self._values(costs)

    def costs(
        self, steps_left: int, side: int, bucket: int, work_steps: float
    ) -> NDArray[np.float32]:
        """Expected dollars to the end by model, and by the mode of the step that comes.

        There must be at least as many steps left as there are steps of work.
        """
        whole = int(work_steps)
        part = work_steps - whole
        beside = self._costs[steps_left][:, side, bucket, :, whole : whole + 2]
        return _single(beside[..., 0] * (1 - part) + beside[..., 1] * part)

    def _with_a_step_more(self, values: Table) -> Table:
        """What each mode costs if the step that comes is spent in it."""
        coming, stages = self._expected(values), self.stages
        costs = np.empty_like(coming)
        costs[:, :, :, 0] = coming[:, :, :, 0]
        for first, price in zip((1, 1 + stages.count), self._prices, strict=True):
            for stage, share in enumerate(stages.progress):
                then = first + min(stage + 1, stages.count - 1)
                costs[:, :, :, first + stage] = price + _worked(coming[:, :, :, then], share)
        costs[..., 0] = 0
        return costs

    def _expected(self, values: Table) -> Table:
        """The values a step before spot is seen again: it stays as it is, or its run ends."""
        older = np.concatenate([values[:, :, 1:], values[:, :, -1:]], axis=2)
        staying = values + self._growing * (older - values)
        ended = values[:, ::-1, :1]
        return _single(staying + self._hazards * (ended - staying))

    def _values(self, costs: Table) -> Table:
        """The least cost of where the job is: by going on, or by any new beginning.

        A job that is on spot when it goes down is nowhere, which is what these values say of it.
        """
        stages = self.stages
        on_spot, on_demand = stages.first(Choice.SPOT), stages.first(Choice.ON_DEMAND)
        anew = np.minimum(costs[:, :, :, 0], costs[:, :, :, on_demand])
        anew[:, UP] = np.minimum(anew[:, UP], costs[:, UP, :, on_spot])
        values = np.repeat(anew[:, :, :, None], stages.modes, axis=3)
        going_on = np.s_[:, :, :, on_demand:]
        values[going_on] = np.minimum(values[going_on], costs[going_on])
        spot = np.s_[:, UP, :, on_spot:on_demand]
        values[spot] = np.minimum(values[spot], costs[spot])
        return values


def _worked(values: Table, share: float) -> Table:
    """The values after a step of which this share was work."""
    less = np.concatenate([values[..., :1], values[..., :-1]], axis=-1)
    return _single((1 - share) * values + share * less)


def _single(values: Floats | Table) -> Table:
    return values.astype(np.float32, copy=False)
