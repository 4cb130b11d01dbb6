"""What is left of an answer when the cluster has changed since it was asked for.

The search of a large cluster takes longer than the cluster rests. What it found is carried over to
the cluster as it is, job by job, and used if it is still better than leaving all as it is; else it
is thrown away. Nothing is said of jobs that came or changed meanwhile: they are planned for next.
"""

from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.plan.validation import restated
from plimsoll.planning.problem.build import PlanInput
from plimsoll_placement.heuristics.carry_over import carried


def carried_over(late: PlanResult, now: PlanInput) -> PlanResult | None:
    """The answer as it can be had now; None if it is of no use any more."""
    plan_input, wanted = restated(late, now)
    if not all(job.knows_its_roles for job in plan_input.problem.jobs):
        return None
    solution = carried(plan_input.problem, wanted)
    return None if solution is None else PlanResult(plan_input, solution)
