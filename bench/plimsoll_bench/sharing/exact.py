"""Whether models can be put on GPUs under less pressure than a limit: all of their sets, counted.

A GPU with memory M and models of size s and load l is under less pressure than p exactly if the sum
of l + p s is less than p M: a bin packing problem. For every set of models the fewest GPUs that
hold it are found, and the least that is then on the last of them, from the sets with one model less
(Bellman 1962; Held and Karp 1962). Shares no code with the product.
"""

from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from plimsoll_bench.sharing.models import Instance

MOST_MODELS = 20
"""A million sets; each further model doubles them."""

Ints = NDArray[np.int64]


def is_possible_below(instance: Instance, limit: Fraction) -> bool:
    """Whether every GPU can be under less pressure than the limit. Exact for a few models."""
    if len(instance.models) > MOST_MODELS:
        raise ValueError(f"{len(instance.models)} models have too many sets to look at")
    weights, capacity = _weights(instance, limit)
    if any(weight > capacity for weight in weights):
        return False
    return _fewest_gpus(weights, capacity) <= instance.gpus


def _weights(instance: Instance, limit: Fraction) -> tuple[list[int], int]:
    """What models weigh at the limit, and the most that is on a GPU below it, as integers."""
    parts = [model.load + limit * model.size_gb for model in instance.models]
    most = limit * instance.memory_gb
    unit = lcm(most.denominator, *(part.denominator for part in parts))
    return [int(part * unit) for part in parts], int(most * unit) - 1


def _fewest_gpus(weights: list[int], capacity: int) -> int:
    """The fewest GPUs for all models: by set, GPUs that are full and what is on the last one."""
    sets = 1 << len(weights)
    if not weights:
        return 0
    sizes = np.zeros(sets, dtype=np.int64)
    for model in range(len(weights)):
        sizes[1 << model : 2 << model] = sizes[: 1 << model] + 1
    full, last = np.zeros(sets, dtype=np.int64), np.zeros(sets, dtype=np.int64)
    base = capacity + 1
    for size in range(1, len(weights) + 1):
        those = np.flatnonzero(sizes == size)
        best = np.full(len(those), np.iinfo(np.int64).max, dtype=np.int64)
        for model, weight in enumerate(weights):
            has = (those >> model & 1) == 1
            before = those[has] ^ (1 << model)
            best[has] = np.minimum(best[has], _joined(full[before], last[before], weight, base))
        full[those], last[those] = best // base, best % base
    return int(full[-1]) + 1


def _joined(full: Ints, last: Ints, weight: int, base: int) -> Ints:
    """What sets come to with one model more, as one number: full GPUs first, then the last."""
    fits = last + weight < base
    return np.where(fits, full * base + last + weight, (full + 1) * base + weight)
