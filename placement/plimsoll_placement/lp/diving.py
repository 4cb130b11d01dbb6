"""Dive from a fluid to whole gangs and replicas, the largest first.

A linear program splits few gangs, about one for each thing that is scarce. But these are often the
largest, and what a plan loses by leaving one out, or by placing one for which smaller ones must
go, is lost to all levels below. So the largest gangs are decided as the program has them, those
that it splits by where most of them is; the program is solved again around them, from where it
ended, and decides what is smaller; and so on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from plimsoll_placement.lp.columns import Shares
from plimsoll_placement.lp.fluid import Fluid
from plimsoll_placement.lp.program import Column
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.score.worth import WHOLE_PERCENT

NEARLY = 1e-4
"""Anything this close to a whole number counts as one."""

HALF = 0.5
STEPS_GPUS = (128, 32, 8, 0)
"""Gangs of at least so many GPUs are decided in each dive."""
SERVICE_GPUS = 32
"""Services count as gangs of this many, so that small gangs can make up for them."""


def dived(fluid: Fluid, values: Sequence[float]) -> Sequence[float]:
    """The columns where all levels are best with hardly a gang or a replica split."""
    jobs = [_Jobs(own) for own in fluid.shares]
    for least_gpus in STEPS_GPUS:
        large = [each for each in jobs if each.milli >= least_gpus * WHOLE_GPU_MILLI]
        if all(each.is_whole(values) for each in large):
            continue
        found = _decided(fluid, values, large, is_last=least_gpus == 0)
        if found is None:
            break
        values = found
    fluid.climber.widen()
    return values


def _decided(
    fluid: Fluid, values: Sequence[float], large: Sequence["_Jobs"], *, is_last: bool
) -> Sequence[float] | None:
    """The columns once some jobs are decided: if not all that are rounded up have room, none is."""
    for is_rounded_up in (True, False):
        for each in large:
            added = each.rounding(fluid) if is_rounded_up else NEARLY
            each.decide(fluid, values, added, is_last=is_last)
        found = fluid.best()
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Jobs:
    """The jobs of one class: gangs, or services by replica."""

    shares: Shares

    @property
    def milli(self) -> int:
        """The milli-GPUs of a gang at its least size, or of a service, as if it had many."""
        if self.shares.service is not None:
            return SERVICE_GPUS * WHOLE_GPU_MILLI
        return self.shares.job_class.job.roles[0].least_gpu_milli

    def is_whole(self, values: Sequence[float]) -> bool:
        """Whether a whole number of them runs in each way."""
        return all(_is_whole(_sum(values, columns)) for columns in self._ways())

    def decide(self, fluid: Fluid, values: Sequence[float], added: float, *, is_last: bool) -> None:
        """Let a whole number run, and as many in each way, most where most of them is.

        It is rounded down after something was added.
        In the last dive no more than that of what is split: nobody is left who could give way.
        """
        ways = self._ways()
        running = [_sum(values, columns) for columns in ways]
        whole = floor(sum(running) + added)
        is_open = self._is_bound_to_shares or (is_last and not self.is_whole(values))
        if self.shares.whole is not None:
            fluid.climber.narrow_row(self.shares.whole, 0.0 if is_open else whole, whole)
        for columns, most in zip(ways, _shared(running, whole), strict=True):
            row = self.shares.in_option.get(columns[0])
            if row is not None:
                fluid.climber.narrow_row(row, 0.0 if is_open else most, most)
            least = most if len(columns) == 1 and not is_open else 0
            for column in columns:
                fluid.climber.narrow_column(column, float(least), float(most))

    def rounding(self, fluid: Fluid) -> float:
        """What is added to be nearest; of services that others give way for, to get all.

        Replicas are small, and what they serve is lost to a level above that of others.
        """
        job, priorities = self.shares.job_class.job, fluid.relaxed.problem.priorities
        is_last = job.priority == priorities[-1] and len(priorities) > 1
        return HALF if job.gang or is_last else 1 - NEARLY

    @property
    def _is_bound_to_shares(self) -> bool:
        """Whether how many run in one way depends on how many do in others."""
        job = self.shares.job_class.job
        return not job.gang and 0 < job.spot_percent < WHOLE_PERCENT

    def _ways(self) -> list[list[Column]]:
        """The columns that count together: of an option, or of what stays.

        Replicas in each class of nodes count for themselves.
        """
        stays = [[column] for _, column in self.shares.stays]
        if self.shares.service is not None:
            return [*([way.count] for way in self.shares.ways), *stays]
        return [*([way.count for way in ways] for ways in self.shares.by_option()), *stays]


def _sum(values: Sequence[float], columns: Sequence[Column]) -> float:
    return sum(values[column] for column in columns)


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) <= NEARLY


def _shared(running: Sequence[float], whole: int) -> list[int]:
    """A whole number in as many whole parts, which are as close to those given as can be."""
    parts = [floor(each + NEARLY) for each in running]
    order = sorted(range(len(running)), key=lambda place: parts[place] - running[place])
    for place in order[: max(0, whole - sum(parts))]:
        parts[place] += 1
    return parts
