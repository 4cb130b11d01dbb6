"""Which jobs may no plan disturb now? Those whose user, policy or budgets say so.

Higher duty goes before: what stands on a node that must be left is not protected, nor is a gang
whose user has given it another size.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from plimsoll.api.placement_policy import DisruptionBudget
from plimsoll.kube.objects import PodDisruptionBudget
from plimsoll.observe.selectors import matches
from plimsoll.observe.snapshot import JobName, JobView, PodView, Snapshot
from plimsoll.planning.batch import allowed_counts

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
    """Whether a training job has not run for as long as it must, or was disturbed enough."""
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
    """Whether a budget is; those count, too, whose place was taken and who wait for another."""
    budgets = snapshot.policy.spec.disruption_budgets if snapshot.policy else ()
    if not budgets:
        return False
    times = [at for job in snapshot.jobs for at in job.resource.status.disruption_times]
    running = sum(1 for _ in placed)
    return any(_is_spent(budget, times, running, snapshot.now) for budget in budgets)


def _is_spent(
    budget: DisruptionBudget, times: Iterable[datetime], running: int, now: datetime
) -> bool:
    disturbed = sum(now - at < budget.window for at in times)
    return disturbed >= allowed_disruptions(budget, running)


def allowed_disruptions(budget: DisruptionBudget, running: int) -> int:
    """How many jobs of those that run a budget lets plans disturb; a share is rounded down."""
    if isinstance(budget.max_jobs, int):
        return budget.max_jobs
    return running * int(budget.max_jobs.rstrip("%")) // 100


def kept_by_budgets(snapshot: Snapshot) -> Mapping[JobName, tuple[str, ...]]:
    """The jobs that PodDisruptionBudgets keep where they are, and which these are.

    What the budgets allow goes to the least important jobs. A gang is disturbed as a whole: it
    needs all its pods allowed, another job at least one.
    """
    allowed = [budget.status.disruptions_allowed for budget in snapshot.budgets]
    kept: dict[JobName, tuple[str, ...]] = {}
    placed = (job for job in snapshot.jobs if job.resource.status.placement is not None)
    for job in sorted(placed, key=lambda job: (job.priority or 0, job.name)):
        needs = {i: n for i, b in enumerate(snapshot.budgets) if (n := _disturbed_pods(b, job))}
        spent = [snapshot.budgets[i].metadata for i, n in needs.items() if allowed[i] < n]
        if spent:
            kept[job.name] = tuple(f"{meta.namespace}/{meta.name}" for meta in spent)
            continue
        for i, n in needs.items():
            allowed[i] -= n
    return kept


def _disturbed_pods(budget: PodDisruptionBudget, job: JobView) -> int:
    """How many pods that a budget covers any change of the job disturbs at the least."""
    covered = sum(_covers(budget, pod) for pod in job.pods if not pod.is_over and not pod.deleting)
    return covered if job.training else min(covered, 1)


def _covers(budget: PodDisruptionBudget, pod: PodView) -> bool:
    selector = budget.spec.selector
    same = budget.metadata.namespace == pod.namespace
    return same and selector is not None and matches(selector, pod.labels)
