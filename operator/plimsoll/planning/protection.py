"""Which jobs may no plan disturb now? Those whose user, policy or budgets say so.

Higher duty goes before: what stands on a node that must be left is not protected, nor is a gang
whose user has given it another size.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from plimsoll.api.placement_policy import DisruptionBudget
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.batch import allowed_counts
from plimsoll.planning.budget_coverage import kept_by_budgets

DAY = timedelta(hours=24)


def protected_jobs(snapshot: Snapshot) -> frozenset[JobName]:
    """The jobs that the plan must leave exactly as they are."""
    placed = [job for job in snapshot.jobs if job.resource.status.placement is not None]
    if _budgets_spent(snapshot, placed):
        protected = {job.name for job in placed}
    else:
        protected = {job.name for job in placed if _is_protected(job, snapshot.now)}
        protected |= kept_by_budgets(snapshot).keys()
    usable = {node.name for node in snapshot.nodes if node.state.usable}
    must_change = {job.name for job in placed if _must_leave(job, usable) or _has_wrong_size(job)}
    return frozenset(protected - must_change)


def must_leave(job: JobView, snapshot: Snapshot) -> bool:
    """Whether something of a job stands where nothing may."""
    return _must_leave(job, {node.name for node in snapshot.nodes if node.state.usable})


def _must_leave(job: JobView, usable: AbstractSet[str]) -> bool:
    placement = job.resource.status.placement
    places = placement.assignments if placement else ()
    return any(name not in usable for place in places for name in place.nodes)


def _has_wrong_size(job: JobView) -> bool:
    """Whether a gang's user no longer allows the size that it runs with."""
    if job.training is None or job.training.status.placement is None:
        return False
    return job.training.status.placement.workers not in allowed_counts(job.training)


def _is_protected(job: JobView, now: datetime) -> bool:
    """Whether a training job has not run for as long as it must, or was disturbed enough.

    And a job whose PriorityClass was deleted: nobody can say for whom it would have to give way.
    """
    if job.priority is None:
        return True
    training = job.training
    if training is None:
        return False
    if any(pod.phase == "Succeeded" for pod in job.pods):
        return True
    rules, status = training.spec.disruption, training.status
    since = status.started_time or status.admitted_time
    if since is not None and now - since < rules.min_runtime:
        return True
    today = [at for at in status.disruption_times if now - at < DAY]
    return rules.max_per_day is not None and len(today) >= rules.max_per_day


def _budgets_spent(snapshot: Snapshot, placed: Iterable[JobView]) -> bool:
    budgets = snapshot.policy.spec.disruption_budgets if snapshot.policy else ()
    jobs = tuple(placed)
    return any(_is_spent(budget, jobs, snapshot.now) for budget in budgets)


def _is_spent(budget: DisruptionBudget, placed: tuple[JobView, ...], now: datetime) -> bool:
    times = [at for job in placed for at in job.resource.status.disruption_times]
    disturbed = sum(now - at < budget.window for at in times)
    return disturbed >= allowed_disruptions(budget, len(placed))


def allowed_disruptions(budget: DisruptionBudget, running: int) -> int:
    """How many jobs of those that run a budget lets plans disturb; a share is rounded down."""
    if isinstance(budget.max_jobs, int):
        return budget.max_jobs
    return running * int(budget.max_jobs.rstrip("%")) // 100
