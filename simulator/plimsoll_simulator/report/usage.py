"""How many GPUs there were, how many were held, and how many were waited for, over time."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from plimsoll_simulator.diary import Stay, by_job
from plimsoll_simulator.programs.training import Run
from plimsoll_simulator.story import Lived

Change = tuple[float, float]
"""A time in seconds since the beginning, and by how much a number changes then."""


@dataclass(frozen=True, slots=True)
class Steps:
    """A number that changes at some times, ascending, and keeps its value until the next."""

    times: Sequence[float]
    values: Sequence[float]

    def at(self, seconds: float) -> float:
        """Its value at a time; 0 before the first."""
        index = bisect_right(self.times, seconds)
        return self.values[index - 1] if index else 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """GPUs over time.

    `wanted`: the least that the training jobs would take that are submitted, not done, and hold
    none.
    """

    offered: Steps
    held: Steps
    wanted: Steps


def usage(lived: Lived) -> Usage:
    """The GPUs of a simulation over time."""
    return Usage(
        _steps(_between((node.begins, node.ends, node.gpus) for node in lived.nodes)),
        _steps(_between((stay.begins, stay.ends, stay.gpus) for stay in lived.stays)),
        _steps(_wanted(lived)),
    )


def _between(spans: Iterable[tuple[float, float, float]]) -> Iterable[Change]:
    for begins, ends, amount in spans:
        yield begins, amount
        yield ends, -amount


def _steps(changes: Iterable[Change]) -> Steps:
    by_time: dict[float, float] = defaultdict(float)
    for time, change in changes:
        by_time[time] += change
    times = sorted(by_time)
    return Steps(times, [*accumulate(by_time[time] for time in times)])


def _wanted(lived: Lived) -> Iterable[Change]:
    stays = by_job(lived.stays)
    for run in lived.runs:
        spec, completed = run.job.spec.workers, run.account.completed
        least = spec.min * spec.milli_gpus_per_worker / 1000
        until = lived.seconds if completed is None else completed
        for begins, ends in _gaps(run, stays.get(run.name, ()), until):
            yield from _between([(begins, ends, least)])


def _gaps(run: Run, stays: Sequence[Stay], until: float) -> Iterable[tuple[float, float]]:
    """When a job held nothing, from its submission on."""
    free = run.account.submitted
    for stay in sorted(stays, key=lambda each: each.begins):
        if stay.begins > free:
            yield free, stay.begins
        free = max(free, stay.ends)
    if until > free:
        yield free, until
