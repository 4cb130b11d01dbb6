"""Who is on which node, and how much of it could be had from those of each priority."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.model import Job, JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import priorities

Ints = NDArray[np.int64]


class Occupancy:
    """The jobs on each node, those that are pinned aside; mutable, as its ledger is.

    `milli` is by priority, the lowest first, and node: the milli-GPUs that pods take there, which
    is more than they ask for where a share of a device is larger. `draw` is what they draw, in
    milli-GPUs in typical use. `spare` and `spare_draw` are how much of both is of gangs beyond
    their least size.
    """

    def __init__(self, problem: Problem) -> None:
        ranked = sorted(priorities(problem))
        self.rank = {priority: rank for rank, priority in enumerate(ranked)}
        self.milli: Ints = np.zeros((len(ranked), len(problem.nodes)), dtype=np.int64)
        self.draw: Ints = np.zeros_like(self.milli)
        self.spare: Ints = np.zeros_like(self.milli)
        self.spare_draw: Ints = np.zeros_like(self.milli)
        self._spare: dict[JobName, tuple[tuple[int, int, int], ...]] = {}
        self._pods: dict[int, dict[JobName, int]] = defaultdict(dict)

    def move_in(self, job: Job, row: int, milli: int, draw_milli: int) -> None:
        """One more pod of a job is on a node, takes so much of its devices and draws so much."""
        pods = self._pods[row]
        pods[job.name] = pods.get(job.name, 0) + 1
        self.milli[self.rank[job.priority], row] += milli
        self.draw[self.rank[job.priority], row] += draw_milli

    def move_out(self, job: Job, row: int, milli: int, draw_milli: int) -> None:
        """One pod less."""
        pods = self._pods[row]
        pods[job.name] -= 1
        if not pods[job.name]:
            del pods[job.name]
        self.milli[self.rank[job.priority], row] -= milli
        self.draw[self.rank[job.priority], row] -= draw_milli

    def grown(self, job: Job, beyond: Iterable[tuple[int, int, int]]) -> None:
        """What a gang has beyond its least size now: a node, what it takes and draws, by pod."""
        rank, beyond = self.rank[job.priority], tuple(beyond)
        for row, milli, draw_milli in self._spare.pop(job.name, ()):
            self.spare[rank, row] -= milli
            self.spare_draw[rank, row] -= draw_milli
        for row, milli, draw_milli in beyond:
            self.spare[rank, row] += milli
            self.spare_draw[rank, row] += draw_milli
        if beyond:
            self._spare[job.name] = beyond

    def could(self, priority: int) -> Ints:
        """Milli-GPUs that those of each priority and below could give up for one of a priority.

        By priority, the lowest first, and node: all of those below, of its own what is spare.
        """
        rank = self.rank[priority]
        return np.cumsum(np.vstack([self.milli[:rank], self.spare[rank]]), axis=0)

    def could_draw(self, priority: int) -> Ints:
        """What all of that draws on each node."""
        rank = self.rank[priority]
        return self.draw[:rank].sum(axis=0) + self.spare_draw[rank]

    def on(self, row: int) -> list[JobName]:
        """The jobs on a node."""
        return list(self._pods[row])
