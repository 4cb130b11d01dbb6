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
    """Solves problems one at a time in another process, and searches aside in a third."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPool(max_workers=1, context=context)
        # Its process starts when it is first used.
        self._aside = ProcessPool(max_workers=1, context=context)

    async def solve(self, problem: Problem, effort: Effort) -> Solution:
        """The best placements found; raises UnsoundPlanError if there are none that are sound."""
        started = time.perf_counter()
        try:
            solution = await _ask(self._pool, problem, effort)
        except (TimeoutError, ProcessExpired) as error:
            _log.warning("search given up, greedy stands", error=type(error).__name__)
            solution = await _ask(self._pool, problem, Effort(deterministic_seconds=0))
        _observe(solution, started)
        return solution

    async def search(self, problem: Problem, effort: Effort) -> Solution | None:
        """The same without anybody waiting for it; None if it is given up."""
        started = time.perf_counter()
        try:
            solution = await _ask(self._aside, problem, effort)
        except (TimeoutError, ProcessExpired) as error:
            _log.warning("search of the whole given up", error=type(error).__name__)
            return None
        _observe(solution, started)
        return solution

    def close(self) -> None:
        """End the process, whatever it is doing."""
        for pool in (self._pool, self._aside):
            pool.stop()
            pool.join()


async def _ask(pool: ProcessPool, problem: Problem, effort: Effort) -> Solution:
    patience = effort.deterministic_seconds + PATIENCE_SECONDS
    future = pool.schedule(solve, args=(problem, effort), timeout=patience)
    return await asyncio.wrap_future(future)


def _observe(solution: Solution, started: float) -> None:
    telemetry.PLAN_SECONDS.labels(solution.outcome).observe(time.perf_counter() - started)
    telemetry.PLAN_GAP_PERCENT.set(solution.gap_percent)
