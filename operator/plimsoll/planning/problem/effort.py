"""How long the search for a plan may take: as the policy says, or the default.

A large cluster is not searched as a whole for every small change: running jobs stay, the changes
are planned around them at once, and the whole is searched in the background.
"""

from dataclasses import replace

from plimsoll.observe.snapshot import Snapshot
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Job
from plimsoll_placement.problem import Problem

LARGE = 3_000
"""The number of nodes and jobs from which a cluster counts as large, unless configured
otherwise."""

FEW_PERCENT = 5
"""The share of all jobs that may have changed for a change to count as small."""


def effort(snapshot: Snapshot) -> Effort:
    """The effort set by the policy, or the default without one."""
    if snapshot.policy is None:
        return Effort()
    planning = snapshot.policy.spec.planning
    return Effort(planning.time_limit.total_seconds(), planning.workers)


def effort_now(
    whole: Effort, problem: Problem, before: Problem | None, *, large: int = LARGE
) -> Effort:
    """What to spend before the next action: all of it, unless a large cluster changed a little.

    In that case, only what a solution needs that leaves everything else running. `before` is the
    last problem planned for, as it was expected to become; None if there was none.
    """
    if before is None or len(problem.nodes) + len(problem.jobs) < large:
        return whole
    known = before.job_by_name
    changed = sum(has_changed(known.get(job.name), job) for job in problem.jobs)
    few = changed * 100 <= len(problem.jobs) * FEW_PERCENT
    return replace(whole, deterministic_seconds=0.0) if few else whole


def has_changed(was: Job | None, job: Job) -> bool:
    """Whether more has changed in a job than the cost of a stop, which changes every minute."""
    if was is job:
        return False
    if was is None:
        return True
    costs = (job.restart_seconds, job.payback_seconds)
    return replace(was, restart_seconds=costs[0], payback_seconds=costs[1]) != job
