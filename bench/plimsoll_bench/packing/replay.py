"""Replay a list of arrivals that one policy places one after another."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Ints, Placement


class Policy(Protocol):
    """Decides where each pod of one cluster goes, in the order of their arrival."""

    def place(self, pod: PodKind) -> Placement | None:
        """Where this pod, which arrives now, goes; None if it fits nowhere."""
        ...


@dataclass(frozen=True, slots=True)
class Replay:
    """One entry per arrival: its place, and the demand and the use in milli-GPUs up to it."""

    capacity_milli: int
    placements: tuple[Placement | None, ...]
    arrived_milli: Ints
    used_milli: Ints

    @property
    def rejected(self) -> int:
        """How many pods fitted nowhere."""
        return self.placements.count(None)

    def allocated_percent(self, arrived_percent: int) -> float:
        """Mean use over the arrivals at which the demand, rounded, is this share of capacity.

        If there are no such arrivals because too few pods come, that of the last one before; 0
        before all.
        """
        return 100 * self.mean_at(arrived_percent, self.used_milli) / self.capacity_milli

    def mean_at(self, arrived_percent: int, by_arrival: Ints) -> float:
        """The mean of a figure over those arrivals."""
        arrived = np.rint(100 * self.arrived_milli / self.capacity_milli)
        there = by_arrival[arrived == arrived_percent]
        return float(
            there.mean() if len(there) else by_arrival[arrived < arrived_percent][-1:].sum()
        )

    def served_percent(self, arrived_percent: float) -> float:
        """How much of the demand is in use when this much, or as much as there is, has arrived."""
        wanted = arrived_percent / 100 * self.capacity_milli
        reached = min(int(np.searchsorted(self.arrived_milli, wanted)), len(self.placements) - 1)
        return 100 * float(self.used_milli[reached] / self.arrived_milli[reached])


def replay(cluster: Cluster, policy: Policy, pods: Iterable[PodKind]) -> Replay:
    """Place the pods one by one in `cluster`, which is changed; those that fit nowhere go away."""
    placements: list[Placement | None] = []
    arrived: list[int] = []
    used: list[int] = []
    demand = 0
    for pod in pods:
        placement = policy.place(pod)
        if placement is not None:
            cluster.take(pod, placement)
        demand += pod.total_gpu_milli
        placements.append(placement)
        arrived.append(demand)
        used.append(cluster.used_milli)
    return Replay(cluster.capacity_milli, tuple(placements), np.array(arrived), np.array(used))
