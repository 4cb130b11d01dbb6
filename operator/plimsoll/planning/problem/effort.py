"""How long the search for a plan may take: as the policy says, or the default.

A cluster is not searched as a whole for every small change, while GPUs that have become free stand
idle: a plan around it may take as long as it is small, in a large cluster no time at all, and the
whole is searched in the background.
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
"""The share of all jobs that may have changed for a change to count as small; what became free is
one even where no job has changed."""


def effort(snapshot: Snapshot) -> Effort:
    """The effort set by the policy, or the default without one."""
    if snapshot.policy is None:
        return Effort()
    planning = snapshot.policy.spec.planning
    return Effort(planning.time_limit.total_seconds(), planning.workers)


def effort_now(
    whole: Effort, problem: Problem, before: Problem | None, *, large: int = LARGE
) -> Effort:
    """What to spend before the next action: of all of it, the share of the jobs that have changed.

    In a large cluster that changed a little, only what a solution needs that leaves everything else
    running. `before` is the last problem planned for, as it was expected to become; None if there
    was none.
    """
    if before is None or not problem.jobs:
        return whole
    known, jobs = before.job_by_name, len(problem.jobs)
    changed = sum(has_changed(known.get(job.name), job) for job in problem.jobs)
    is_small = changed * 100 <= jobs * FEW_PERCENT
    if len(problem.nodes) + jobs < large:
        share = FEW_PERCENT / 100 if is_small else changed / jobs
        return replace(whole, deterministic_seconds=whole.deterministic_seconds * share)
    return replace(whole, deterministic_seconds=0.0) if is_small else whole


def has_changed(was: Job | None, job: Job) -> bool:
    """Whether more has changed in a job than the cost of a stop, which changes every minute."""
    if was is job:
        return False
    if was is None:
        return True
    costs = (job.restart_seconds, job.payback_seconds)
    return replace(was, restart_seconds=costs[0], payback_seconds=costs[1]) != job
