"""Find the job that makes planning fail when the error does not say which one it is.

Most of what can go wrong with a job is caught where that job is handled. This is for the rest:
failures that appear only for the cluster as a whole, for instance in the solver. Plans are tried
with fewer jobs until the job that makes them fail is known.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from plimsoll.acting.cluster.cluster_status import cluster_statuses
from plimsoll.control.solving.solver import Solver
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.capping.reaction import cap_changes, power_reactions
from plimsoll.planning.faults import Faults
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.plan.ordinals import with_ordinals
from plimsoll.planning.plan.validation import renewed
from plimsoll.planning.power.capped_jobs import capped_jobs
from plimsoll.planning.power.job_power import JobPowers
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_placement.effort import Effort
from plimsoll_placement.solution import Solution

AT_ONCE = Effort(deterministic_seconds=0)


async def culprit(
    jobs: Sequence[JobView], works: Callable[[Sequence[JobView]], Awaitable[bool]]
) -> JobView | None:
    """The first job whose addition makes planning fail.

    None if planning works with all jobs, or fails with none. Makes about log2(jobs) trials.
    """
    if await works(jobs) or not await works(()):
        return None
    good, bad = 0, len(jobs)
    while bad - good > 1:
        middle = (good + bad) // 2
        if await works(jobs[:middle]):
            good = middle
        else:
            bad = middle
    return jobs[bad - 1]


class Isolation:
    """Makes trial plans, from the greedy solution to the steps that would follow."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver

    async def culprit(self, snapshot: Snapshot, tried: Callable[[], None]) -> JobView | None:
        """The job without which the snapshot can be planned; of several, the least important.

        `tried` is called after each trial.
        """

        async def works(jobs: Sequence[JobView]) -> bool:
            kept = {view.name for view in jobs}
            others = {view.name for view in snapshot.jobs} - kept
            has_worked = await self._works(Faults().without(snapshot, others))
            tried()
            return has_worked

        return await culprit(sorted(snapshot.jobs, key=_order), works)

    async def _works(self, snapshot: Snapshot) -> bool:
        try:
            plan_input = await asyncio.to_thread(plan_input_of, snapshot, ProblemBuilder())
            solution = await self._solver.solve(plan_input.problem, AT_ONCE)
            await asyncio.to_thread(_follow, snapshot, plan_input, solution)
        except Exception:  # noqa: BLE001 - any error counts as a failed trial
            return False
        return True


def _follow(snapshot: Snapshot, plan_input: PlanInput, solution: Solution) -> None:
    """Compute everything a turn derives from a solution."""
    result = with_ordinals(snapshot, PlanResult(plan_input, solution))
    fresh, _ = renewed(result, plan_input_of(snapshot, ProblemBuilder()))
    plan = plan_of(snapshot, fresh)
    reactions = power_reactions(snapshot, plan_input.as_it_runs)
    capped_jobs(snapshot, plan_input.problem)
    JobPowers().news(snapshot, plan_input.as_it_runs)
    for _ in cap_changes(snapshot, reactions):
        pass
    for _ in cluster_statuses(snapshot, plan_input.as_it_runs, plan, reactions):
        pass


def _order(view: JobView) -> tuple[bool, int, float, str]:
    """Running, important and old jobs first, so that the last is the first suspect."""
    created = view.resource.metadata.creation_timestamp
    runs = view.resource.status.placement is not None
    return not runs, -(view.priority or 0), created.timestamp() if created else 0.0, view.name
