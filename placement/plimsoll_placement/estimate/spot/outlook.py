"""What the rest of a job will cost, for each model of spot and each state of the job.

Bellman's equation, backwards from the deadline, in steps of ten minutes. The state is the steps
left, the steps of work left, whether spot is up and for how long, and where the job is: nowhere, or
on spot or on-demand in some stage of its start, or past it. Work is counted in whole steps and
interpolated between them. Lateness is expensive here, not forbidden: `choice` ensures that no
choice can make a job late.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.estimate.spot.belief import FACTORS, Belief
from plimsoll_placement.estimate.spot.choice import Choice
from plimsoll_placement.estimate.spot.lifetimes import BUCKETS, UP, Floats, growing, hazards

Table = NDArray[np.float32]
"""Costs by model, side, bucket, mode and steps of work left; see `Stages` for the modes."""

LATE_PRICE = 3.0
"""What a late step costs over one of on-demand."""
MOST_STAGES = 4
"""A start of more steps takes this many stages, each of a random length."""


@dataclass(frozen=True)
class Stages:
    """The modes of a job: 0 nowhere, then the stages of a run on spot, then those on-demand."""

    overhead_steps: float

    @cached_property
    def progress(self) -> tuple[float, ...]:
        """The share of a step that is work, by stage; the last stage goes on for ever."""
        left, shares = self.overhead_steps, list[float]()
        if left > MOST_STAGES:
            return (*[0.0] * MOST_STAGES, 1.0)
        while left > 0:
            shares.append(max(0.0, 1 - left))
            left = max(0.0, left - 1)
        return (*shares, 1.0)

    @property
    def chance(self) -> float:
        """The probability that a stage of the start is over after a step."""
        return min(1.0, MOST_STAGES / self.overhead_steps) if self.overhead_steps else 1.0

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

    def mode(self, choice: Choice, starting: float) -> int:
        """The mode of a step in which this share of a start is still to come."""
        if choice is Choice.WAIT:
            return 0
        stages = self.count - 1
        if self.chance < 1:
            left = math.ceil(starting * stages - 1e-9)
        else:
            left = math.ceil(starting * self.overhead_steps - 1e-9)
        return self.first(choice) + stages - min(left, stages)


class Outlook:
    """The costs of each choice, for jobs of at most this many steps of work and steps left.

    `spot_price` is that of a step on spot, where one of on-demand costs 1. Costs are kept for
    `every` so many steps, of time and of work, and interpolated between. To make one takes
    `work_steps` × `steps` × some microseconds.
    """

    def __init__(
        self,
        overhead_steps: float,
        spot_price: float,
        *,
        work_steps: int,
        steps: int,
        every: int = 1,
    ) -> None:
        self._every = every
        self.stages = Stages(overhead_steps)
        self._hazards = hazards(FACTORS).astype(np.float32)[..., None, None]
        self._growing = growing().astype(np.float32)[:, None, None]
        self._prices = (spot_price, 1.0)
        columns = work_steps + 2 * every
        late = np.arange(columns, dtype=np.float32) * np.float32(LATE_PRICE)
        shape = (len(FACTORS), 2, BUCKETS, self.stages.modes, columns)
        values: Table = np.broadcast_to(late, shape).astype(np.float32)
        self._costs = [values[..., ::every].copy()]
        for left in range(1, steps + every + 1):
            costs = self._with_a_step_more(values)
            if left % every == 0:
                self._costs.append(costs[..., ::every].copy())
            values = self._values(costs)

    def costs(
        self, spot: Belief, steps_left: float, work_steps: float, choice: Choice, starting: float
    ) -> NDArray[np.float32]:
        """Expected cost to the end by model, if the step that comes is spent so.

        `starting` is the share of a start that is still to come. There must be at least as many
        steps left as there are steps of work.
        """
        mode = self.stages.mode(choice, starting)
        return self._between(spot, steps_left / self._every, work_steps / self._every, mode)

    def _between(self, spot: Belief, left: float, work: float, mode: int) -> NDArray[np.float32]:
        """What was kept, interpolated between times and amounts of work."""
        sooner, share = int(left), left % 1
        less, part = int(work), work % 1
        found = [
            kept[:, spot.side, spot.bucket, mode, less : less + 2]
            for kept in self._costs[sooner : sooner + 2]
        ]
        at = [beside[:, 0] * (1 - part) + beside[:, 1] * part for beside in found]
        return _single(at[0] * (1 - share) + at[1] * share)

    def _with_a_step_more(self, values: Table) -> Table:
        """What each mode costs if the step that comes is spent in it."""
        coming, stages = self._expected(values), self.stages
        costs = np.empty_like(coming)
        costs[:, :, :, 0] = coming[:, :, :, 0]
        for first, price in zip((1, 1 + stages.count), self._prices, strict=True):
            for stage, share in enumerate(stages.progress):
                here, then = first + stage, first + min(stage + 1, stages.count - 1)
                after = _worked(coming[:, :, :, then], share)
                if then != here and stages.chance < 1:
                    after = after * stages.chance + coming[:, :, :, here] * (1 - stages.chance)
                costs[:, :, :, here] = price + after
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
