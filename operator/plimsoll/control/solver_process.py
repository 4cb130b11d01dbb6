"""Where plans are searched for: a process of its own, so that the event loop never waits.

A search that takes far longer than it may, whose process dies, or that fails, is given up; then
greedy's answer is asked for.
"""

import asyncio
import multiprocessing
import time

from pebble import ProcessPool

from plimsoll import telemetry
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import load, solve_lean

PATIENCE_SECONDS = 20.0
"""How much longer than its deterministic time a search may take on a busy machine."""
PATIENCE_SECONDS_EACH = 0.01
"""And how much longer for each node and job: thirty times what greedy takes for one."""

_log = telemetry.logger(__name__)


class Solver:
    """Solves problems one at a time in another process, and searches aside in a third."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPool(max_workers=1, context=context)
        # Its process starts when it is first used.
        self._aside = ProcessPool(max_workers=1, context=context)
        self._is_warm = False

    def warm_up(self) -> None:
        """Load all code now, once: who stands by must not begin with that when it takes over."""
        if not self._is_warm:
            self._is_warm = True
            self._pool.schedule(load)

    async def solve(self, problem: Problem, effort: Effort) -> Solution:
        """The best placements found; raises UnsoundPlanError if there are none that are sound."""
        started = time.perf_counter()
        try:
            solution = await _ask(self._pool, problem, effort)
        except Exception as error:  # noqa: BLE001 - around one search: greedy needs none
            _log.warning("search given up, greedy stands", error=repr(error))
            solution = await _ask(self._pool, problem, Effort(deterministic_seconds=0))
        _observe(solution, started)
        return solution

    async def search(self, problem: Problem, effort: Effort) -> Solution | None:
        """The same without anybody waiting for it; None if it is given up."""
        started = time.perf_counter()
        try:
            solution = await _ask(self._aside, problem, effort)
        except Exception as error:  # noqa: BLE001 - the same
            _log.warning("search of the whole given up", error=repr(error))
            return None
        _observe(solution, started)
        return solution

    def close(self) -> None:
        """End the process, whatever it is doing."""
        for pool in (self._pool, self._aside):
            pool.stop()
            pool.join()


async def _ask(pool: ProcessPool, problem: Problem, effort: Effort) -> Solution:
    patience = patience_seconds(problem, effort)
    future = pool.schedule(solve_lean, args=(problem, effort), timeout=patience)
    return await asyncio.wrap_future(future)


def patience_seconds(problem: Problem, effort: Effort) -> float:
    """After how long a search is given up: it hangs, for no machine is as busy as that."""
    size = len(problem.nodes) + len(problem.jobs)
    return effort.deterministic_seconds + PATIENCE_SECONDS + size * PATIENCE_SECONDS_EACH


def _observe(solution: Solution, started: float) -> None:
    telemetry.PLAN_SECONDS.labels(solution.outcome).observe(time.perf_counter() - started)
    telemetry.PLAN_GAP_PERCENT.set(solution.gap_percent)
