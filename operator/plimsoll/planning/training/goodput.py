"""Estimate a job's goodput with each batch: throughput times statistical efficiency.

A larger batch needs fewer gradient exchanges for the same number of samples, but each of its
samples brings less progress: how much less follows from the gradient noise
(`plimsoll_placement/estimate/throughput/noise.py`). The step time with another batch follows from
the model of the job's steps (`step_times.py`) or, without one, from the job's curve on a GPU type:
whatever part of a step is not proportional to a rank's samples is then attributed to the exchange,
which happens once whatever the batch. Measurements of a batch count next to the model, the more the
longer they lasted.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.batch_limits import batch_limits, ranks_per_worker
from plimsoll.planning.training.step_times import StepTimes
from plimsoll.rounding import in_tenths
from plimsoll_placement.estimate.throughput.best_batch import (
    BatchLimits,
    Division,
    best_batches,
    goodput,
    least_division,
)
from plimsoll_placement.estimate.throughput.curves import (
    BY_SIZE,
    NOISE,
    NOISE_SECONDS,
    MeasuredRate,
    Size,
    corrected_rates,
)
from plimsoll_placement.estimate.throughput.noise import Floats, GradientNoise
from plimsoll_placement.estimate.throughput.scaling import Scaling


@dataclass(frozen=True, slots=True)
class Run:
    """A measurement: the rate with a batch of so many samples, and its step time if known."""

    batch: int
    rate: MeasuredRate
    step_seconds: float | None = None

    @property
    def size(self) -> Size:
        """The GPU type and the number of workers."""
        return self.rate.gpu_type, self.rate.replicas

    @property
    def what(self) -> tuple[Size, int]:
        """The size and the batch."""
        return self.size, self.batch


class Trial(NamedTuple):
    """A batch to evaluate at a size, as it is divided there, next to the smallest."""

    size: Size
    least: Division
    division: Division


@dataclass(frozen=True, slots=True)
class Best:
    """The batch with the highest goodput at a size, and that goodput per second."""

    division: Division
    rate: float


@dataclass(frozen=True, slots=True)
class GoodputTerms:
    """What a job's batches depend on besides its rates: its limits, its ranks, its noise."""

    limits: Mapping[str, BatchLimits]
    ranks: int
    noise: GradientNoise

    @classmethod
    def of(cls, job: TrainingJob) -> Self | None:
        """The terms of a job whose batch may grow and whose noise is known; None for others."""
        batch, progress = job.spec.batch, job.status.progress
        noise = progress.gradient_noise if progress is not None else None
        if batch is None or batch.max_size is None or noise is None:
            return None
        variance = in_tenths(float(noise)) / batch.size
        return cls(batch_limits(job), ranks_per_worker(job), GradientNoise(1.0, variance))

    def least(self, size: Size) -> Division | None:
        """The smallest batch at a size."""
        return least_division(self.limits[size[0]], size[1] * self.ranks)

    def divided(self, size: Size, batch: int) -> Division | None:
        """How exactly this batch is divided at a size; None if it cannot be."""
        limits = self.limits[size[0]]
        if not limits.smallest <= batch <= limits.largest:
            return None
        exactly = replace(limits, smallest=batch, largest=batch)
        return least_division(exactly, size[1] * self.ranks)

    def trial(self, size: Size, batch: int) -> Trial | None:
        """This batch next to the smallest; None if either is impossible."""
        least, division = self.least(size), self.divided(size, batch)
        if least is None or division is None:
            return None
        return Trial(size, least, division)


@dataclass(frozen=True, slots=True)
class Goodput:
    """Useful work per second by size and batch.

    `rates` are those with the smallest batch at each size, `runs` the measurements with any.
    `sample_seconds` is by GPU type the least time that a sample takes a rank, in units of the job's
    work, which need not be samples. `steps` are the models of its steps.
    """

    terms: GoodputTerms
    rates: Mapping[Size, float]
    runs: Sequence[Run]
    sample_seconds: Mapping[str, float]
    steps: StepTimes

    @classmethod
    def known(
        cls,
        terms: GoodputTerms,
        stated: Mapping[Size, float],
        runs: Sequence[Run],
        steps: StepTimes,
        *,
        by_type: float,
    ) -> Self:
        """Stated or modelled rates, with the smallest batch, corrected by measurement.

        `by_type`: how far those of a GPU type may be off (`curves.py`).
        """
        plain = cls(terms, stated, (), _sample_seconds(terms, stated), steps)
        tried = [(run, trial) for run in runs if (trial := terms.trial(*run.what)) is not None]
        gains = plain._gains([trial for _, trial in tried])
        known = [(run, gain) for (run, _), gain in zip(tried, gains, strict=True) if gain > 0]
        same = [replace(run.rate, rate=run.rate.rate / gain) for run, gain in known]
        expected = {**stated, **plain._modelled_rates(same)}
        rates = corrected_rates(expected, same, by_type=by_type)
        return cls(terms, rates, [run for run, _ in known], _sample_seconds(terms, rates), steps)

    def _modelled_rates(self, measured: Iterable[MeasuredRate]) -> dict[Size, float]:
        """Rates with the smallest batch by the models, in the units of those measured."""
        by_type: dict[str, list[tuple[Size, Division]]] = {}
        for size in self.rates:
            least = self.terms.least(size)
            if least is not None and size[0] in self.steps.models:
                by_type.setdefault(size[0], []).append((size, least))
        found: dict[Size, float] = {}
        for of in by_type.values():
            sizes = [size for size, _ in of]
            rates = self._modelled(sizes, [least for _, least in of]).tolist()
            found |= zip(sizes, rates, strict=True)
        units = [
            (math.log(each.rate / found[size]), each.seconds)
            for each in measured
            if (size := (each.gpu_type, each.replicas)) in found
        ]
        whole = sum(seconds for _, seconds in units)
        if not whole:
            return {}
        unit = math.exp(sum(log * seconds for log, seconds in units) / whole)
        return {size: rate * unit for size, rate in found.items()}

    def rate(self, size: Size, batch: int) -> float:
        """Useful work per second with a batch; 0 if the job cannot have it at that size."""
        modelled = self.rates[size] * self.gain(size, batch)
        return _believed(modelled, (run for run in self.runs if run.what == (size, batch)))

    def gain(self, size: Size, batch: int) -> float:
        """How much more is done with a batch than with the smallest; 0 if it is impossible."""
        tried = self.terms.trial(size, batch)
        return self._gains([tried])[0] if tried is not None else 0.0

    def _gains(self, tried: Sequence[Trial]) -> list[float]:
        """The same for many at once."""
        by_type: dict[str, list[int]] = {}
        for place, each in enumerate(tried):
            by_type.setdefault(each.size[0], []).append(place)
        found = [0.0] * len(tried)
        for places in by_type.values():
            of = [tried[place] for place in places]
            sizes = [each.size for each in of]
            with_least = self._modelled(sizes, [each.least for each in of])
            with_each = self._modelled(sizes, [each.division for each in of])
            for place, gain in zip(places, (with_each / with_least).tolist(), strict=True):
                found[place] = gain
        return found

    def _modelled(self, sizes: Sequence[Size], divisions: Sequence[Division]) -> Floats:
        """Progress per second at sizes of one type, each with a batch, in steps of the smallest."""
        return goodput(
            self._scaling(sizes),
            self.terms.noise,
            self.terms.limits[sizes[0][0]].smallest,
            nodes=self.steps.nodes(sizes),
            replicas=_floats([each.replicas for each in divisions]),
            split=_floats([each.local_batch for each in divisions]),
            passes=_floats([each.passes for each in divisions]),
        )

    def best(self, sizes: Iterable[Size]) -> dict[Size, Division]:
        """The batch with the highest goodput at each size; sizes without a batch are omitted."""
        return {size: found.division for size, found in self.bests(sizes).items()}

    def bests(self, sizes: Iterable[Size]) -> dict[Size, Best]:
        """The same with its goodput, among the smallest, the model's best and measured ones."""
        tried = [*self._tried(sizes)]
        measured: dict[tuple[Size, int], list[Run]] = {}
        for run in self.runs:
            measured.setdefault(run.what, []).append(run)
        found: dict[Size, Best] = {}
        for each, gain in zip(tried, self._gains(tried), strict=True):
            size, division = each.size, each.division
            rate = _believed(self.rates[size] * gain, measured.get((size, division.size), ()))
            if size not in found or rate > found[size].rate:
                found[size] = Best(division, rate)
        return found

    def _tried(self, sizes: Iterable[Size]) -> Iterator[Trial]:
        by_type: dict[str, dict[Size, Division]] = {}
        for size in sizes:
            least = self.terms.least(size)
            if least is not None:
                by_type.setdefault(size[0], {})[size] = least
                yield Trial(size, least, least)
        for kind, of in by_type.items():
            for size, division in self._best_by_model(kind, [*of]):
                yield Trial(size, of[size], division)
        for run in self.runs:
            tried = self.terms.trial(*run.what)
            if tried is not None and run.size in by_type.get(run.size[0], {}):
                yield tried

    def _best_by_model(self, kind: str, sizes: Sequence[Size]) -> Iterator[tuple[Size, Division]]:
        limits = self.terms.limits[kind]
        replicas = [workers * self.terms.ranks for _, workers in sizes]
        found = best_batches(
            self._scaling(sizes),
            self.terms.noise,
            limits,
            nodes=self.steps.nodes(sizes),
            replicas=_floats(replicas),
        )
        columns = (each.tolist() for each in (found.rate, found.local_batch, found.passes))
        for size, ranks, rate, local, passes in zip(sizes, replicas, *columns, strict=True):
            # Rounded up to whole samples it may be too large, and then rounded down too small.
            most = limits.largest // (ranks * passes)
            division = Division(ranks, min(local, most), passes)
            if rate > 0 and division.size >= limits.smallest:
                yield size, division

    def _scaling(self, sizes: Sequence[Size]) -> Scaling:
        """A step at sizes of one type: as modelled, or the time of its samples and the rest."""
        kind = sizes[0][0]
        if kind in self.steps.models:
            return self.steps.models[kind]
        smallest, sample = self.terms.limits[kind].smallest, self.sample_seconds[kind]
        ranks = _floats([workers * self.terms.ranks for _, workers in sizes])
        whole = smallest / np.array([self.rates[size] for size in sizes])
        exchange = np.maximum(whole - sample * smallest / ranks, 0.0)
        return Scaling(0.0, sample, exchange, 0.0, exchange, 0.0)


def _believed(modelled: float, runs: Iterable[Run]) -> float:
    """A model's figure, corrected by measurements of exactly the same."""
    for run in runs if modelled > 0 else ():
        doubt = NOISE**2 * NOISE_SECONDS / run.rate.seconds
        trust = BY_SIZE**2 / (BY_SIZE**2 + doubt)
        modelled *= math.exp(trust * math.log(run.rate.rate / modelled))
    return modelled


def _sample_seconds(terms: GoodputTerms, rates: Mapping[Size, float]) -> dict[str, float]:
    """By GPU type the least time that a rank needs for a sample at any size."""
    found: dict[str, float] = {}
    for (kind, workers), rate in rates.items():
        found[kind] = min(found.get(kind, math.inf), workers * terms.ranks / rate)
    return found


def _floats(numbers: Sequence[int]) -> Floats:
    return np.array(numbers, dtype=np.float64)
