"""The gangs: how many GPUs each has, how long it works, and what all of them need at the least."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

NODE_GPUS = 8
SHARES = {1: 0.32, 2: 0.23, 4: 0.16, 8: 0.12, 16: 0.08, 32: 0.05, 64: 0.04}
"""How many of the gangs have so many GPUs."""
SPREAD = 0.6
"""Of lengths that vary: the standard deviation of their logarithm."""
LEAST, MOST = 0.2, 2.0
"""Lengths that vary, as a multiple of the mean, before all are scaled to have that mean."""


@dataclass(frozen=True, slots=True)
class Gang:
    """Workers that get nothing done until all of them run; then they work for `seconds`."""

    name: str
    workers: int
    gpus_per_worker: int
    seconds: float

    @property
    def gpus(self) -> int:
        """Those of all workers."""
        return self.workers * self.gpus_per_worker


def drawn_gangs(count: int, seed: int, *, seconds: float, vary: bool) -> list[Gang]:
    """Gangs of all sizes by their shares, in random order.

    A worker has at most a node's GPUs. Lengths are `seconds`, or vary log-normally so that all the
    work together is the same.
    """
    random = Random(seed)
    sizes = _apportioned(count)
    random.shuffle(sizes)
    factors = [_factor(random) if vary else 1.0 for _ in sizes]
    scale = sum(sizes) / sum(size * factor for size, factor in zip(sizes, factors, strict=True))
    return [
        Gang(
            f"gang-{number:03}",
            max(1, size // NODE_GPUS),
            min(size, NODE_GPUS),
            round(seconds * scale * factor, 1),
        )
        for number, (size, factor) in enumerate(zip(sizes, factors, strict=True))
    ]


def least_makespan(gangs: Sequence[Gang], gpus: int) -> float:
    """A bound that no order of these gangs on so many GPUs comes below, in seconds.

    It is the largest of three: their work spread evenly; the longest gang; and, for each length
    and its halves and thirds d: of moments d apart a gang of length l covers at least floor(l / d),
    and at each moment there are only so many GPUs.
    """
    even = sum(gang.gpus * gang.seconds for gang in gangs) / gpus
    steps = {gang.seconds / parts for gang in gangs for parts in (1, 2, 3)}
    return max(
        even,
        *(gang.seconds for gang in gangs),
        *(step * math.ceil(_covered(gangs, step) / gpus) for step in steps),
    )


def _covered(gangs: Sequence[Gang], step: float) -> int:
    """The GPUs that gangs hold at moments `step` apart, summed over the moments, at the least."""
    # A tenth of a second's rounding must not cost a moment, nor win one.
    return sum(gang.gpus * math.floor(gang.seconds / step + 1e-9) for gang in gangs)


def _factor(random: Random) -> float:
    return min(MOST, max(LEAST, random.lognormvariate(0, SPREAD)))


def _apportioned(count: int) -> list[int]:
    """The sizes by their shares; what remains goes to the largest remainders."""
    exact = {size: share * count for size, share in SHARES.items()}
    counts = {size: math.floor(value) for size, value in exact.items()}
    by_remainder = sorted(exact, key=lambda size: counts[size] - exact[size])
    for size in by_remainder[: count - sum(counts.values())]:
        counts[size] += 1
    return [size for size, many in counts.items() for _ in range(many)]
