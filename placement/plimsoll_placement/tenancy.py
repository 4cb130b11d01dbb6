"""Who is on which node, and how much of it could be had from those of each priority."""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.problem import Job, JobName, Problem
from plimsoll_placement.score import priorities

Ints = NDArray[np.int64]


class Tenancy:
    """The jobs on each node, those that are pinned aside; mutable, as its ledger is.

    `milli` is by priority, the lowest first, and node: the milli-GPUs that pods take there, which
    is more than they ask for where a share of a device is larger.
    """

    def __init__(self, problem: Problem) -> None:
        ranked = sorted(priorities(problem))
        self.rank = {priority: rank for rank, priority in enumerate(ranked)}
        self.milli: Ints = np.zeros((len(ranked), len(problem.nodes)), dtype=np.int64)
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

    def on(self, row: int) -> list[JobName]:
        """The jobs on a node."""
        return list(self._pods[row])
