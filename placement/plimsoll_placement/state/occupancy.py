"""Which jobs are on which node, and how much could be freed there by priority."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.model import Job, JobName
from plimsoll_placement.problem import Problem

Ints = NDArray[np.int64]


class Occupancy:
    """The jobs on each node, pinned ones aside; mutable, like its ledger.

    `milli` is by priority, lowest first, and node: the milli-GPUs that pods take there, which is
    more than they ask for where a share of a device is larger. `draw` is what they draw, in
    milli-GPUs in typical use. `spare` and `spare_draw` are the parts of both that gangs hold beyond
    their least size.
    """

    def __init__(self, problem: Problem) -> None:
        ranked = sorted(problem.priorities)
        self.rank = {priority: rank for rank, priority in enumerate(ranked)}
        self.milli: Ints = np.zeros((len(ranked), len(problem.nodes)), dtype=np.int64)
        self.draw: Ints = np.zeros_like(self.milli)
        self.spare: Ints = np.zeros_like(self.milli)
        self.spare_draw: Ints = np.zeros_like(self.milli)
        self._spare: dict[JobName, tuple[tuple[int, int, int], ...]] = {}
        self._pods: dict[int, dict[JobName, int]] = defaultdict(dict)
        self._derived: dict[Hashable, Ints] = {}

    def move_in(self, job: Job, row: int, milli: int, draw_milli: int) -> None:
        """Count one more pod of a job on a node, with the devices and draw it takes."""
        self._derived.clear()
        pods = self._pods[row]
        pods[job.name] = pods.get(job.name, 0) + 1
        self.milli[self.rank[job.priority], row] += milli
        self.draw[self.rank[job.priority], row] += draw_milli

    def move_out(self, job: Job, row: int, milli: int, draw_milli: int) -> None:
        """Count one pod less."""
        self._derived.clear()
        pods = self._pods[row]
        pods[job.name] -= 1
        if not pods[job.name]:
            del pods[job.name]
        self.milli[self.rank[job.priority], row] -= milli
        self.draw[self.rank[job.priority], row] -= draw_milli

    def grown(self, job: Job, beyond: Iterable[tuple[int, int, int]]) -> None:
        """Set what a gang has beyond its least size: by pod, a node, what it takes and draws."""
        self._derived.clear()
        rank, beyond = self.rank[job.priority], tuple(beyond)
        for row, milli, draw_milli in self._spare.pop(job.name, ()):
            self.spare[rank, row] -= milli
            self.spare_draw[rank, row] -= draw_milli
        for row, milli, draw_milli in beyond:
            self.spare[rank, row] += milli
            self.spare_draw[rank, row] += draw_milli
        if beyond:
            self._spare[job.name] = beyond

    def derived(self, key: Hashable, make: Callable[[], Ints]) -> Ints:
        """What is made of all this, remembered by its key until a pod moves in or out."""
        found = self._derived.get(key)
        if found is None:
            found = self._derived[key] = make()
        return found

    def could(self, priority: int | None) -> Ints:
        """Milli-GPUs that each priority and those below could give up for a job of `priority`.

        By priority, lowest first, and node: everything below it, and of its own what is spare.
        Without a priority: everything.
        """

        def make() -> Ints:
            if priority is None:
                return np.cumsum(self.milli, axis=0)
            rank = self.rank[priority]
            return np.cumsum(np.vstack([self.milli[:rank], self.spare[rank]]), axis=0)

        return self.derived(("milli", priority), make)

    def could_draw(self, priority: int | None) -> Ints:
        """What all of that draws on each node."""

        def make() -> Ints:
            if priority is None:
                return self.draw.sum(axis=0)
            rank = self.rank[priority]
            return self.draw[:rank].sum(axis=0) + self.spare_draw[rank]

        return self.derived(("draw", priority), make)

    def on(self, row: int) -> list[JobName]:
        """The jobs on a node."""
        return list(self._pods[row])
