"""Who is on which node, and how much of it could be had from those of each priority."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.problem import Job, JobName, Problem
from plimsoll_placement.score import priorities

Ints = NDArray[np.int64]


class Tenancy:
    """The jobs on each node, those that are pinned aside; mutable, as its ledger is.

    `milli` is by priority, the lowest first, and node: the milli-GPUs that pods take there, which
    is more than they ask for where a share of a device is larger. `spare` is how much of it is of
    gangs beyond their least size.
    """

    def __init__(self, problem: Problem) -> None:
        ranked = sorted(priorities(problem))
        self.rank = {priority: rank for rank, priority in enumerate(ranked)}
        self.milli: Ints = np.zeros((len(ranked), len(problem.nodes)), dtype=np.int64)
        self.spare: Ints = np.zeros_like(self.milli)
        self._spare: dict[JobName, tuple[tuple[int, int], ...]] = {}
        self._pods: dict[int, dict[JobName, int]] = defaultdict(dict)

    def move_in(self, job: Job, row: int, milli: int) -> None:
        """One more pod of a job is on a node, and takes so much of its devices."""
        pods = self._pods[row]
        pods[job.name] = pods.get(job.name, 0) + 1
        self.milli[self.rank[job.priority], row] += milli

    def move_out(self, job: Job, row: int, milli: int) -> None:
        """One pod less."""
        pods = self._pods[row]
        pods[job.name] -= 1
        if not pods[job.name]:
            del pods[job.name]
        self.milli[self.rank[job.priority], row] -= milli

    def grown(self, job: Job, beyond: Iterable[tuple[int, int]]) -> None:
        """What a gang has beyond its least size now: milli-GPUs by node, one entry a pod."""
        rank, beyond = self.rank[job.priority], tuple(beyond)
        for row, milli in self._spare.pop(job.name, ()):
            self.spare[rank, row] -= milli
        for row, milli in beyond:
            self.spare[rank, row] += milli
        if beyond:
            self._spare[job.name] = beyond

    def could(self, priority: int) -> Ints:
        """Milli-GPUs that those of each priority and below could give up for one of a priority.

        By priority, the lowest first, and node: all of those below, of its own what is spare.
        """
        rank = self.rank[priority]
        return np.cumsum(np.vstack([self.milli[:rank], self.spare[rank]]), axis=0)

    def on(self, row: int) -> list[JobName]:
        """The jobs on a node."""
        return list(self._pods[row])
