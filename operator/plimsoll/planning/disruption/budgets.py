"""Find the jobs that no plan may disturb now, and the work that plans may throw away.

Users, the policy and PodDisruptionBudgets say so.

Jobs that cannot be written to are also left alone: what they were to give up would come late or
never. Some duties take precedence: a job on a node that must be vacated is not protected, nor is a
gang whose user has given it another size. Users' wishes hold within the limits of their queues, and
only for a time against another queue's guarantee.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from plimsoll.api.job_queue import ProtectionLimits
from plimsoll.api.parts.disruption import LostWork
from plimsoll.api.placement_policy import DisruptionBudget, PlacementPolicySpec
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.disruption.budget_coverage import kept_by
from plimsoll.planning.disruption.lost_places import lost_places
from plimsoll.planning.faults import Guard, unguarded
from plimsoll.planning.quota.reclaiming import Reclaiming
from plimsoll.planning.training.batch_limits import allowed_counts
from plimsoll.remembered import once_for_each
from plimsoll_placement.model import WHOLE_GPU_MILLI

DAY = timedelta(hours=24)
_WHOLE_PERCENT = 100
Limits = Mapping[str, ProtectionLimits]
"""How far jobs may protect themselves, by the name of their queue."""
_NO_LIMITS = ProtectionLimits()


@dataclass(frozen=True, slots=True)
class Protection:
    """The jobs that a plan must leave exactly as they are.

    `ended`: jobs that would be protected if they did not stand in the way of a guarantee, and why.
    """

    jobs: frozenset[JobName]
    ended: Mapping[JobName, str] = field(default_factory=dict[JobName, str])


def protection(snapshot: Snapshot, guard: Guard = unguarded) -> Protection:
    """The jobs protected now."""
    placed = (job for job in snapshot.present if job.resource.status.placement is not None)
    going_on = [job for job in placed if not job.is_over]
    usable = snapshot.usable_nodes
    must_change = _those(
        going_on,
        lambda job: (
            _must_leave(job, usable)
            or (job.training is not None and _must_change(job, job.training, snapshot))
        ),
        guard,
    )
    if _budgets_spent(snapshot):
        return Protection(frozenset({job.name for job in going_on} - must_change))
    stuck = frozenset(job.name for job in going_on if job.uid in snapshot.stuck) - must_change
    limits = _limits(snapshot)
    wished = _those(going_on, lambda job: _is_protected(job, snapshot.now, limits), guard)
    wished |= kept_by_budgets(snapshot).keys()
    wished -= must_change | stuck
    reclaiming = Reclaiming(snapshot)
    why = {name: reclaiming.against(snapshot.job_by_name[name]) for name in sorted(wished)}
    ended = {name: text for name, text in why.items() if text}
    return Protection(frozenset(wished - ended.keys()) | stuck, ended)


def _those(jobs: Iterable[JobView], are: Callable[[JobView], bool], guard: Guard) -> set[JobName]:
    found: set[JobName] = set()
    for job in jobs:
        with guard(job):
            if are(job):
                found.add(job.name)
    return found


def must_leave(job: JobView, snapshot: Snapshot) -> bool:
    """Whether part of a job is on a node that must be vacated, or was where it cannot return."""
    return _must_leave(job, snapshot.usable_nodes) or bool(lost_places(job, snapshot))


def _must_leave(job: JobView, usable: frozenset[str]) -> bool:
    return not usable.issuperset(job.placed_nodes)


def _must_change(job: JobView, gang: TrainingJob, snapshot: Snapshot) -> bool:
    """Whether a gang has another size than allowed, or cannot start again where it is."""
    return _has_wrong_size(gang) or bool(lost_places(job, snapshot))


@once_for_each
def _has_wrong_size(job: TrainingJob) -> bool:
    """Whether a gang's user no longer allows the size at which it runs."""
    placement = job.status.placement
    return placement is not None and placement.workers not in allowed_counts(job)


def _limits(snapshot: Snapshot) -> Limits:
    return {queue.metadata.name: queue.spec.disruption for queue in snapshot.queues}


def _is_protected(job: JobView, now: datetime, limits: Limits) -> bool:
    """Whether a training job has not run for its minimum time, or was disturbed often enough."""
    training = job.training
    if training is None:
        return False
    if any(pod.phase == "Succeeded" for pod in job.pods):
        return True
    rules, status = training.spec.disruption, training.status
    if not rules.min_runtime and rules.max_per_day is None:
        return False
    limit = limits.get(training.spec.queue, _NO_LIMITS)
    since = status.started_time or status.admitted_time
    longest = rules.min_runtime if limit.min_runtime is None else limit.min_runtime
    if since is not None and now - since < min(rules.min_runtime, longest):
        return True
    today = [at for at in status.disruption_times if now - at < DAY]
    most = rules.max_per_day
    return most is not None and len(today) >= max(most, limit.max_per_day or 0)


def _budgets(snapshot: Snapshot) -> tuple[DisruptionBudget, ...]:
    policy = PlacementPolicySpec() if snapshot.policy is None else snapshot.policy.spec
    return policy.disruption_budgets


def _budgets_spent(snapshot: Snapshot) -> bool:
    """Whether as many jobs were disturbed as may be; preempted ones that wait count too."""
    limits = [
        (budget, budget.max_jobs) for budget in _budgets(snapshot) if budget.max_jobs is not None
    ]
    if not limits:
        return False
    times = [at for job in snapshot.jobs for at in job.resource.status.disruption_times]
    placed = (job for job in snapshot.present if job.resource.status.placement is not None)
    running = sum(not job.is_over for job in placed)
    return any(
        sum(snapshot.now - at < budget.window for at in times) >= allowed_disruptions(most, running)
        for budget, most in limits
    )


def allowed_disruptions(most: int | str, running: int) -> int:
    """How many of its running jobs a budget lets plans disturb; a share is rounded down."""
    if isinstance(most, int):
        return most
    return running * int(most.rstrip("%")) // _WHOLE_PERCENT


def loss_allowance(snapshot: Snapshot, supply_milli: int) -> int | None:
    """The work that plans may still throw away, in milli-GPU-seconds; None without a limit.

    `supply_milli`: all milli-GPUs that plans can use.
    """
    limits = [
        (budget.window, budget.max_lost_percent)
        for budget in _budgets(snapshot)
        if budget.max_lost_percent is not None
    ]
    if not limits:
        return None
    lost = [each for job in snapshot.jobs for each in job.lost_work]
    return min(
        max(0, _allowed_milli(percent, supply_milli) * int(window.total_seconds()) - spent)
        for window, percent in limits
        for spent in (_lost_within(window, lost, snapshot.now),)
    )


def _allowed_milli(percent: int, supply_milli: int) -> int:
    """How many milli-GPUs' work may be lost: of a small cluster, one GPU's."""
    return max(supply_milli * percent // _WHOLE_PERCENT, WHOLE_GPU_MILLI) if percent else 0


def _lost_within(window: timedelta, lost: Iterable[LostWork], now: datetime) -> int:
    return WHOLE_GPU_MILLI * sum(each.gpu_seconds for each in lost if now - each.time < window)


def kept_by_budgets(snapshot: Snapshot) -> Mapping[JobName, tuple[str, ...]]:
    """The jobs that PodDisruptionBudgets hold in place, and those budgets."""
    if not snapshot.budgets:
        return {}
    limits = _limits(snapshot)
    placed = [job for job in snapshot.jobs if _may_be_kept(job, snapshot.now, limits)]
    return kept_by(snapshot.budgets, placed)


def _may_be_kept(job: JobView, now: datetime, limits: Limits) -> bool:
    """Whether a job has a placement in which its queue still lets budgets hold it."""
    status = job.resource.status
    limit = limits.get(job.resource.spec.queue, _NO_LIMITS).budgets_for
    if status.placement is None or limit is None or status.admitted_time is None:
        return status.placement is not None
    return now - status.admitted_time < limit
