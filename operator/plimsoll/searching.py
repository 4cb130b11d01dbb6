"""The search for a better plan of the whole cluster, while nothing else is to do.

It begins from the cluster as it is, nobody waits for it, and what comes of it is thrown away if the
cluster has changed in between.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from plimsoll import telemetry
from plimsoll.planning.problems import Question
from plimsoll.solving import Solver
from plimsoll.telemetry import Reason
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution

_log = telemetry.logger(__name__)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A search under way, or over."""

    problem: Problem
    task: asyncio.Task[Solution | None]


class BackgroundSearch:
    """One search at a time, for the problem that was last planned for in a hurry."""

    def __init__(self, solver: Solver, woken: Callable[[], None]) -> None:
        self._solver, self._woken = solver, woken
        self._begun: _Begun | None = None
        self.is_wanted = False
        """Whether the last plan was made without looking at the whole."""

    def begin(self, problem: Problem, effort: Effort) -> None:
        """Search the whole, unless that is done already or under way."""
        if not self.is_wanted or self._begun is not None:
            return
        task = asyncio.create_task(self._solver.search(problem, effort))
        task.add_done_callback(lambda _: self._woken())
        self._begun = _Begun(problem, task)

    def end(self, *, is_wanted: bool) -> None:
        """Give up what is under way; the cluster has changed."""
        if self._begun is not None:
            self._begun.task.cancel()
            telemetry.PLANS_DROPPED.labels(Reason.STALE).inc()
            _log.info("plan dropped", reason=Reason.PLAN_DROPPED, broken=["the cluster changed"])
        self._begun, self.is_wanted = None, is_wanted

    def answer(self, asked: Question) -> Solution | None:
        """What was found for just this question, once.

        Raises what the search raised. If the cluster is another for a moment, it is searched again.
        """
        if self._begun is None or not self._begun.task.done():
            return None
        begun, self._begun = self._begun, None
        self.is_wanted = begun.problem != asked.problem
        found = begun.task.result()
        return None if self.is_wanted else found
