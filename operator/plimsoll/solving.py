"""Where plans are searched for: a process of its own, so that the event loop never waits.

A search that takes far longer than it may, or whose process dies, is given up; then greedy's answer
is asked for.
"""

import asyncio
import multiprocessing
import time

from pebble import ProcessExpired, ProcessPool

from plimsoll import telemetry
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import solve

PATIENCE_SECONDS = 20.0
"""How much longer than its deterministic time a search may take on a busy machine."""

_log = telemetry.logger(__name__)


class Solver:
    """Solves problems one at a time in another process."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPool(max_workers=1, context=context)

    async def solve(self, problem: Problem, effort: Effort) -> Solution:
        """The best placements found; raises UnsoundPlanError if there are none that are sound."""
        started = time.perf_counter()
        try:
            solution = await self._ask(problem, effort)
        except (TimeoutError, ProcessExpired) as error:
            _log.warning("search given up, greedy stands", error=type(error).__name__)
            solution = await self._ask(problem, Effort(deterministic_seconds=0))
        telemetry.PLAN_SECONDS.labels(solution.outcome).observe(time.perf_counter() - started)
        telemetry.PLAN_GAP_PERCENT.set(solution.gap_percent)
        return solution

    async def _ask(self, problem: Problem, effort: Effort) -> Solution:
        patience = effort.deterministic_seconds + PATIENCE_SECONDS
        future = self._pool.schedule(solve, args=(problem, effort), timeout=patience)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._pool.stop()
        self._pool.join()
