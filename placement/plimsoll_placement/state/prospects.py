"""How much of an idle device the pods to come will use: a look-ahead, learned from past arrivals.

Of a device with idle milli-GPUs and its part of the node's CPU, the next pod that fits takes a part
and leaves a smaller device to the next, and so on. With p(k) the share of arrivals that are of kind
k, what will be used of it is

    V(idle, cpu) = sum of p(k) (milli(k) + V(idle - milli(k), cpu - cpu(k))) / (e + sum of p(k))

and likewise with memory instead of CPU where that runs out first (`yardstick.py`). The sums are
over the kinds k that fit. e is the chance that no pod comes any more before the cluster is full: a
gap that only rare pods are small enough for, such as the 190 milli-GPUs beside a pod of 810, is
worth little, since many like it wait for them. A pod of several GPUs counts as that many pods of
one.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Floats, Ints, States
from plimsoll_placement.state.yardstick import Yardstick

NOBODY_COMES = 0.02
"""e above: about a fiftieth of the arrivals so far still comes to each gap."""
MILLI_STEP = 10
MOST_STEPS = 64
"""More CPU or memory than this per whole device counts as this much."""
TOGETHER_MILLI = 3
"""What n idle GPUs on one node are worth beyond their prospects: n squared times this. All else
equal, it sends a pod to the node that is used most, and keeps whole nodes for gangs."""
TOGETHER_PER_MILLI_SQUARED = TOGETHER_MILLI / WHOLE_GPU_MILLI**2
AGAINST_ROUNDING = 1e-9
"""Keeps what should be a whole number of steps from ending just below it."""


class Prospects:
    """V in a table, by steps of 10 milli-GPUs and of the yardstick, and the worth of nodes from it.

    `arrivals` says how many pods of each kind have come.
    """

    def __init__(self, arrivals: Mapping[PodKind, int], yardstick: Yardstick) -> None:
        self._yardstick = yardstick
        table = _table(_requested_steps(arrivals, yardstick), max(1, sum(arrivals.values())))
        self._by_milli = np.repeat(table, MILLI_STEP, axis=0).ravel()

    def worth(self, states: States) -> Floats:
        """What each state is worth: what the pods to come will use, and idle GPUs together."""
        idle = states.free.sum(axis=1)
        return self.nodes(states, idle) + idle * idle * TOGETHER_PER_MILLI_SQUARED

    def nodes(self, states: States, idle: Ints) -> Floats:
        """What the pods to come will use of each state, in milli-GPUs, of which `idle` are idle.

        A node's CPU or memory is divided among its devices in proportion to their idle milli-GPUs.
        """
        per_milli = self._yardstick.free(states) / (np.maximum(idle, 1) * self._yardstick.step)
        columns = MOST_STEPS + 1 + np.minimum(per_milli, MOST_STEPS / WHOLE_GPU_MILLI)
        place = states.free * (columns + AGAINST_ROUNDING)[:, None]
        return self._by_milli.take(place.astype(np.int64)).sum(axis=1)


def _requested_steps(
    arrivals: Mapping[PodKind, int], yardstick: Yardstick
) -> Counter[tuple[int, int]]:
    """How many GPUs came with each need of the yardstick and share of the device, in steps."""
    steps: Counter[tuple[int, int]] = Counter()
    for pod, count in arrivals.items():
        if pod.gpus:
            steps[yardstick.steps_for_each_gpu(pod), -(-pod.gpu_milli // MILLI_STEP)] += (
                count * pod.gpus
            )
    return steps


def _table(requested: Mapping[tuple[int, int], int], pods: int) -> Floats:
    """V by steps of idle milli-GPUs and the yardstick, for GPUs requested by `pods` pods."""
    kinds = sorted(requested, key=lambda steps: steps[1])
    cpu = np.array([cpu for cpu, _ in kinds], dtype=np.int64)[:, None]
    milli = np.array([milli for _, milli in kinds], dtype=np.int64)[:, None]
    count = np.array([requested[kind] for kind in kinds], dtype=np.int64)[:, None]
    cpu_left = np.arange(MOST_STEPS + 1) - cpu
    chance = np.where(cpu_left >= 0, count / pods, 0.0)
    cpu_left = np.maximum(cpu_left, 0)
    some_fits, taken = chance.cumsum(axis=0), (chance * milli * MILLI_STEP).cumsum(axis=0)
    table = np.zeros((WHOLE_GPU_MILLI // MILLI_STEP + 1, MOST_STEPS + 1))
    for idle in range(1, len(table)):
        fit = int(np.searchsorted(milli[:, 0], idle, side="right"))
        if fit:
            later = (chance[:fit] * table[idle - milli[:fit], cpu_left[:fit]]).sum(axis=0)
            table[idle] = (taken[fit - 1] + later) / (some_fits[fit - 1] + NOBODY_COMES)
    return table
