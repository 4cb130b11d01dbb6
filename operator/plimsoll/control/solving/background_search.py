"""Search for a better plan of the whole cluster in the background.

Nothing waits for the search, and the cluster may change meanwhile: what becomes of a late result is
decided in `planning/plan/validation.py`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from plimsoll.control.solving.solver import Solver
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.problem.build import PlanInput
from plimsoll_placement.effort import Effort
from plimsoll_placement.solution import Solution


@dataclass(frozen=True, slots=True)
class _Begun:
    """A search, running or done."""

    plan_input: PlanInput
    task: asyncio.Task[Solution | None]


class BackgroundSearch:
    """At most one search at a time, for a plan input that was solved in a hurry."""

    def __init__(self, solver: Solver, woken: Callable[[], None]) -> None:
        self._solver, self._woken = solver, woken
        self._begun: _Begun | None = None
        self._is_wanted = False

    def want(self) -> None:
        """Note that the last plan did not consider the whole cluster."""
        self._is_wanted = True

    def end(self) -> None:
        """Drop the running search: the whole cluster has been planned since."""
        if self._begun is not None:
            self._begun.task.cancel()
        self._begun, self._is_wanted = None, False

    def begin(self, plan_input: PlanInput, effort: Effort) -> None:
        """Start a search of the whole if one is wanted and none is running."""
        if not self._is_wanted or self._begun is not None:
            return
        self._is_wanted = False
        task = asyncio.create_task(self._solver.search(plan_input.problem, effort))
        task.add_done_callback(lambda _: self._woken())
        self._begun = _Begun(plan_input, task)

    def take_result(self) -> PlanResult | None:
        """The search's result, returned once; raises what the search raised."""
        if self._begun is None or not self._begun.task.done():
            return None
        begun, self._begun = self._begun, None
        found = begun.task.result()
        return None if found is None else PlanResult(begun.plan_input, found)
