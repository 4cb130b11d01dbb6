"""Look for a bought node that can be emptied, beside the loop, while nobody waits for a place."""

import asyncio
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from plimsoll.clock import Clock
from plimsoll.control.solver import Solver
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.emptying import Emptying, emptyings
from plimsoll.planning.provisioning.start_times import start_time
from plimsoll.supervision import count_failure, result_of
from plimsoll_placement.problem import Problem

PAUSE_SECONDS: Final = 30.0
"""Between two looks."""
MOST_TRIED: Final = 4
"""How many nodes each looks at."""


class Consolidation:
    """Takes a turn after each of the loop's; `emptied` is the node that it found last."""

    def __init__(self, solver: Solver, clock: Clock, woken: Callable[[], None]) -> None:
        self._solver, self._clock, self._woken = solver, clock, woken
        self._task: asyncio.Task[str | None] | None = None
        self._looked_at = -PAUSE_SECONDS
        self._waited: datetime | None = None
        """When somebody last waited for a place."""
        self.emptied: str | None = None

    def turn(
        self,
        snapshot: Snapshot,
        settled: Problem | None,
        idle: AbstractSet[str],
        *,
        someone_waits: bool,
    ) -> None:
        """Take what was found, and begin to look anew; `idle` nodes take nothing."""
        self.emptied = None
        if someone_waits:
            self._waited = snapshot.now
        if self._task is not None and self._task.done():
            found = result_of(self._task)
            self.emptied = None if someone_waits else found
            self._task = None
        if settled is None or self._task is not None or not self._is_quiet(snapshot):
            return
        if self._clock.monotonic() - self._looked_at < PAUSE_SECONDS:
            return
        found = tuple(emptyings(snapshot, settled, idle, MOST_TRIED))
        if not found:
            return
        self._looked_at = self._clock.monotonic()
        self._task = asyncio.create_task(self._first(found, settled.loss_allowance))
        self._task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[str | None]") -> None:
        """A look is over; an error costs this look, and is counted."""
        count_failure("emptying", task)
        self._woken()

    def _is_quiet(self, snapshot: Snapshot) -> bool:
        """Whether nobody has waited for as long as nodes take to start."""
        if self._waited is None:
            return True
        bought = (pool for pool in snapshot.pools if pool.spec.provisioning is not None)
        longest = max(start_time(pool, snapshot) for pool in bought)
        return snapshot.now - self._waited > longest

    async def _first(self, found: Sequence[Emptying], allowance: int | None) -> str | None:
        for each in found:
            solution = await self._solver.estimate(each.problem)
            if solution is not None and each.pays(solution.placements, allowance):
                return each.node
        return None
