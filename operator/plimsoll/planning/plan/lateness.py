"""Carry a late plan result over to a cluster that has changed since.

Searching a large cluster takes longer than the cluster stays unchanged. The result is carried over
to the present cluster job by job, and used if it is still better than changing nothing; otherwise
it is discarded. It does not cover jobs that arrived or changed meanwhile: they are planned next.
"""

from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.plan.validation import restated
from plimsoll.planning.problem.build import PlanInput
from plimsoll_placement.heuristics.carry_over import carried


def carried_over(late: PlanResult, now: PlanInput) -> PlanResult | None:
    """The plan result as it applies now; None if it is no longer of use."""
    plan_input, wanted = restated(late, now)
    if not all(job.knows_its_roles for job in plan_input.problem.jobs):
        return None
    solution = carried(plan_input.problem, wanted)
    return None if solution is None else PlanResult(plan_input, solution)
