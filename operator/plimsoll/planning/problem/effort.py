"""How long may the search for a plan take? As the policy says, or as is usual.

A large cluster is not searched as a whole for every small change: what runs stays, what changed is
planned around it at once, and the whole is searched in the background.
"""

from dataclasses import replace

from plimsoll.observe.snapshot import Snapshot
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Job
from plimsoll_placement.problem import Problem

LARGE = 3_000
"""So many nodes and jobs are a large cluster, unless the operator is told otherwise."""

FEW_PERCENT = 5
"""Of all jobs, so many may have changed for a change to be small."""


def effort(snapshot: Snapshot) -> Effort:
    """The effort by the policy, the usual one where there is no policy."""
    if snapshot.policy is None:
        return Effort()
    planning = snapshot.policy.spec.planning
    return Effort(planning.time_limit.total_seconds(), planning.workers)


def effort_now(
    whole: Effort, problem: Problem, before: Problem | None, *, large: int = LARGE
) -> Effort:
    """What to spend before the next action: all of it, unless a large cluster changed a little.

    Then only what an answer takes that leaves alone whatever else runs. `before` is the last
    problem planned for, as it was to become; None if there was none.
    """
    if before is None or len(problem.nodes) + len(problem.jobs) < large:
        return whole
    known = before.job_by_name
    changed = sum(_has_changed(known.get(job.name), job) for job in problem.jobs)
    few = changed * 100 <= len(problem.jobs) * FEW_PERCENT
    return replace(whole, deterministic_seconds=0.0) if few else whole


def _has_changed(was: Job | None, job: Job) -> bool:
    """Whether more changed of a job than what a stop costs, which does so every minute for all."""
    if was is None:
        return True
    costs = (job.restart_seconds, job.payback_seconds)
    return replace(was, restart_seconds=costs[0], payback_seconds=costs[1]) != job
