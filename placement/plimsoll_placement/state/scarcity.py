"""Prices that leave GPU types to the pods that can run on no other.

A pod that may run anywhere should not use up a type that others are bound to. The price of a type
is what was asked for by pods that cannot run on all types, spread over those they can run on as
they are idle, as a share of what is idle of it, assuming that as much as is idle is still to come.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from plimsoll_placement.model import WHOLE_GPU_MILLI, Arrival, GpuType

BOUND_GPU_MILLI = 100
"""What taking a GPU costs if all idle ones of its type will be asked for by pods that are bound to
it: a tenth of a GPU, enough to tell apart types that are about as good."""
MOST_TIMES_OVER = 10


def scarcity_prices(came: Iterable[Arrival], idle: Mapping[GpuType, int]) -> dict[GpuType, float]:
    """What it costs to take one milli-GPU of each type, in milli-GPUs, given the idle ones."""
    bound: Counter[frozenset[GpuType]] = Counter()
    asked = 0
    for arrival in came:
        milli = arrival.pods * arrival.shape.gpu_milli
        types = arrival.gpu_types.intersection(idle)
        asked += milli
        if len(types) < len(idle):
            bound[types] += milli
    density = dict.fromkeys(idle, 0.0)
    for types, milli in bound.items():
        among = max(1, sum(idle[each] for each in types))
        for each in types:
            density[each] += milli / max(1, asked) * sum(idle.values()) / among
    return {
        each: min(times, MOST_TIMES_OVER) * BOUND_GPU_MILLI / WHOLE_GPU_MILLI
        for each, times in density.items()
    }
