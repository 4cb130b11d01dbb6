"""Search for plans in a separate process, so that the event loop never waits.

A search is abandoned if it takes far too long, if its process dies, or if it fails; the greedy
solution is used then.
"""

import asyncio
import os
import sys
import time
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.popen_spawn_posix import Popen
from multiprocessing.process import BaseProcess
from types import ModuleType

from pebble import ProcessPool

from plimsoll.control.solving.problem_update import update_of, whole
from plimsoll.control.solving.solver_work import solved
from plimsoll.vocabulary import logs, metrics
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import load

PATIENCE_SECONDS = 20.0
"""How far a search may exceed its deterministic time on a busy machine."""
PATIENCE_SECONDS_EACH = 0.01
"""Further allowance for each node and job: thirty times what greedy takes for one."""
BACKGROUND_NICENESS = 10
"""Background searches get what processor time the rest of the operator leaves."""

_log = logs.logger(__name__)


class SolverProcess:
    """Solves problems one at a time in one process, and background searches in another."""

    def __init__(self) -> None:
        # Each process starts on first use.
        self._ahead, self._aside = _Process(), _Process(niceness=BACKGROUND_NICENESS)
        self._is_warm = False

    def warm_up(self) -> None:
        """Load all code now, so that a standby need not when it takes over."""
        if not self._is_warm:
            self._is_warm = True
            self._ahead.load()

    async def solve(self, problem: Problem, effort: Effort) -> Solution:
        """The best placements found; raises UnsoundPlanError if no sound ones are found."""
        started = time.perf_counter()
        try:
            solution = await self._ahead.solve(problem, effort)
        except Exception as error:  # noqa: BLE001 - around one search: greedy needs none
            _log.warning("search given up, greedy stands", error=repr(error))
            solution = await self._ahead.solve(problem, Effort(deterministic_seconds=0))
        _observe(solution, started)
        return solution

    async def search(self, problem: Problem, effort: Effort) -> Solution | None:
        """The same in the background; None if the search is abandoned."""
        started = time.perf_counter()
        try:
            solution = await self._aside.solve(problem, effort)
        except Exception as error:  # noqa: BLE001 - the same
            _log.warning("search of the whole given up", error=repr(error))
            return None
        _observe(solution, started)
        return solution

    async def estimate(self, problem: Problem) -> Solution | None:
        """Good placements at once, beside the plan, in the background; None if that fails."""
        try:
            return await self._aside.solve(problem, Effort(deterministic_seconds=0))
        except Exception as error:  # noqa: BLE001 - the same
            _log.warning("estimate given up", error=repr(error))
            return None

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        for process in (self._ahead, self._aside):
            process.close()


class _Process:
    """One process, and what it was sent last: it is sent what has changed since."""

    def __init__(self, *, niceness: int = 0) -> None:
        self._pool = ProcessPool(
            max_workers=1, context=_LeanContext(), initializer=os.nice, initargs=(niceness,)
        )
        self._sent: Problem | None = None
        self._number = 0

    def load(self) -> None:
        """Load all code now."""
        self._pool.schedule(load)

    async def solve(self, problem: Problem, effort: Effort) -> Solution:
        """The solution of a problem; raises what the search raises."""
        solution = await self._ask(problem, effort, self._sent)
        if solution is None:
            # It is another process, or was never sent what this problem was compared with.
            solution = await self._ask(problem, effort, None)
        if solution is None:
            raise LookupError("the process does not know a problem that it was sent as a whole")
        return solution

    async def _ask(
        self, problem: Problem, effort: Effort, before: Problem | None
    ) -> Solution | None:
        """The solution; None if the process does not know the problem `before`."""
        self._number += 1
        number = self._number
        update = whole(problem, number) if before is None else update_of(before, problem, number)
        self._sent = problem
        patience = patience_seconds(problem, effort)
        future = self._pool.schedule(solved, args=(update, effort), timeout=patience)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End it, whatever it is doing."""
        self._pool.stop()
        self._pool.join()


class _LeanProcess(SpawnProcess):
    """A process that does not load the program that started it: it needs none of it.

    Otherwise it would import kopf with all that belongs to it, which takes longer than what it
    needs itself, and 40 MiB.
    """

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Popen:  # noqa: N802 - as in the base
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            return Popen(process_obj)
        finally:
            sys.modules["__main__"] = main


class _LeanContext(SpawnContext):
    """Starts such processes."""

    Process = _LeanProcess


def patience_seconds(problem: Problem, effort: Effort) -> float:
    """After how long a search counts as hung; no machine is busy enough to explain more."""
    size = len(problem.nodes) + len(problem.jobs)
    return effort.deterministic_seconds + PATIENCE_SECONDS + size * PATIENCE_SECONDS_EACH


def _observe(solution: Solution, started: float) -> None:
    metrics.PLAN_SECONDS.labels(solution.outcome).observe(time.perf_counter() - started)
    metrics.PLAN_GAP_PERCENT.set(solution.gap_percent)
