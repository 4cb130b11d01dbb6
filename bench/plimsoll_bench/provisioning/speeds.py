"""How fast each recorded application can be at most, by GPU type and number of GPUs.

In units of its own work: seconds of one GPU of the type on which that part of it goes fastest. An
application is divided into a few parts, as its gradients grow noisier and larger batches pay; of a
part, the best of its epochs counts, and of all batches the best one. Fewer GPUs than the job runs
with are no way to do it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_bench.provisioning.market import PRICES
from plimsoll_simulator.recorded.gpu_pools import SIA_POOLS, Pool
from plimsoll_simulator.recorded.recording import Application
from plimsoll_simulator.recorded.submission import RecordedSpeed
from plimsoll_simulator.recorded.timings import Shape

MOST_GPUS: Final = 24
PARTS: Final = 4
BATCHES: Final = 32
BETWEEN_BATCHES: Final = 1.01
"""What a batch between two that are tried can be better, and more."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Way:
    """So many GPUs of a type, and how much faster they are than the unit."""

    gpu_type: str
    gpus: int
    rate: float


@dataclass(frozen=True, slots=True)
class Part:
    """So much of an application's work, and the ways in which it can be done."""

    seconds: float
    ways: Sequence[Way]


def parts_of(application: Application, least: int = 1) -> tuple[Part, ...]:
    """The parts of an application one after the other; ways that never pay are left out.

    `least`: with how many GPUs it runs at least.
    """
    gains = _gains(application)
    rates = {
        (pool.gpu_type, gpus): _rates(application, pool, gpus, gains)
        for pool in SIA_POOLS
        for gpus in {1, *range(least, MOST_GPUS + 1)}
    }
    unit = np.max([rates[gpu_type, 1] for gpu_type in PRICES], axis=0)
    seconds = _work(application) / unit
    return tuple(
        Part(float(seconds[begins:ends].sum()), [*_ways(rates, unit, slice(begins, ends), least)])
        for begins, ends in _spans(seconds)
    )


def _work(application: Application) -> Floats:
    """The samples of each epoch."""
    training, epochs = application.training, application.habits.epochs
    ends = [training.progress_after(epoch) for epoch in range(epochs + 1)]
    return np.diff(ends) * training.smallest_batch


def _spans(seconds: Floats) -> Iterator[tuple[int, int]]:
    """Epochs in a few spans that take about equally long, none empty."""
    until = np.cumsum(seconds) / seconds.sum()
    cuts = [int(np.searchsorted(until, part / PARTS)) for part in range(1, PARTS)]
    yield from pairwise(sorted({0, *(min(cut + 1, len(seconds)) for cut in cuts), len(seconds)}))


def _ways(
    rates: Mapping[tuple[str, int], Floats], unit: Floats, epochs: slice, least: int
) -> Iterator[Way]:
    """On each type the numbers of GPUs that are not slower than others by turns."""
    for gpu_type in PRICES:
        kept = [Way(gpu_type, 0, 0.0)]
        for gpus in range(least, MOST_GPUS + 1):
            way = Way(gpu_type, gpus, float((rates[gpu_type, gpus] / unit)[epochs].max()))
            while len(kept) > 1 and _slope(kept[-2], kept[-1]) <= _slope(kept[-2], way):
                kept.pop()
            if way.rate > kept[-1].rate:
                kept.append(way)
        yield from kept[1:]


def _slope(one: Way, other: Way) -> float:
    """How much faster each further GPU makes it."""
    return (other.rate - one.rate) / (other.gpus - one.gpus)


def _gains(application: Application) -> Mapping[int, Floats]:
    """What a step is worth in samples of the smallest batch, by batch and epoch."""
    training, epochs = application.training, range(application.habits.epochs)
    smallest, largest = training.smallest_batch, training.largest_batch
    batches = np.unique(np.geomspace(smallest, largest, BATCHES).round().astype(int)).tolist()

    def gain(batch: int, epoch: int) -> float:
        return float(training.noise(batch, epoch).gain(np.array([batch / smallest]))[0])

    return {
        batch: smallest * np.array([gain(batch, epoch) for epoch in epochs]) for batch in batches
    }


def _rates(application: Application, pool: Pool, gpus: int, gains: Mapping[int, Floats]) -> Floats:
    """The samples of the smallest batch that a second is worth with the best batch, by epoch."""
    shapes = {*_shapes(application, pool, gpus)}
    rates = [
        gain / min(_seconds(application, pool.gpu_type, shape, batch) for shape in shapes)
        for batch, gain in gains.items()
    ]
    return np.max(rates, axis=0) * BETWEEN_BATCHES


def _shapes(application: Application, pool: Pool, gpus: int) -> Iterator[Shape]:
    """As few nodes as possible, and all that were recorded."""
    yield pool.shape(gpus)
    recorded = application.timings[pool.gpu_type].by_shape
    yield from (shape for shape in recorded if sum(shape) == gpus)


def _seconds(application: Application, gpu_type: str, shape: Shape, batch: int) -> float:
    """The seconds of a step in the best number of passes, else as `RecordedSpeed` has them."""
    timings, ranks = application.timings[gpu_type], sum(shape)
    fewest = RecordedSpeed(application).local_batch(gpu_type, batch, ranks).passes
    most = timings.local_most(shape)

    def seconds(passes: int) -> float:
        local = -(-batch // (ranks * passes))
        step, sync = timings.seconds(shape, local)
        return sync + passes * (step - sync) * max(1.0, local / most)

    tried = (fewest, fewest + 1, 2 * fewest, 4 * fewest)
    return min(map(seconds, tried)) * application.habits.slowdown
