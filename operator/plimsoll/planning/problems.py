"""From a snapshot to the solver's problem, and which jobs are no part of it, with the reason."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from plimsoll.api.conditions import condition, is_true
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.planning.cluster import Cluster
from plimsoll.planning.deadlines import off_spot
from plimsoll.planning.jobs import Translator
from plimsoll.planning.parts import is_missing_part, parts_of
from plimsoll.planning.protection import protected_jobs
from plimsoll.planning.shares import fair_shares, guaranteed, limits
from plimsoll.planning.weights import solver_weights
from plimsoll.telemetry import Reason
from plimsoll_placement.explain import Feasibility, Lack
from plimsoll_placement.foresight import arrivals
from plimsoll_placement.problem import GpuType, Job, Problem, Queue, QueueName

DEFAULT_QUEUE = "default"
REFUSAL_PAUSE = timedelta(seconds=60)
"""How long a job waits whose pods the API server refused, unless its spec changes."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the solver is asked, and the jobs that it is not asked about because they cannot run."""

    problem: Problem
    holds: tuple[Hold, ...]
    feasibility: Feasibility = field(compare=False)
    """Whether jobs could run alone: what is on its way out does not count against that."""
    off_spot: Mapping[JobName, str] = field(default_factory=dict[JobName, str], compare=False)
    """The jobs that their deadline keeps off spot, and why."""


def question(snapshot: Snapshot, translator: Translator) -> Question:
    """The problem of a snapshot; finished and suspended jobs are no part of it."""
    cluster = translator.cluster(snapshot)
    translator.forget_others({view.uid for view in snapshot.jobs})
    protected = protected_jobs(snapshot)
    hurried = off_spot(snapshot, cluster)
    jobs: list[Job] = []
    holds: list[Hold] = []
    for view in snapshot.jobs:
        if not wants_place(view):
            continue
        # What runs already is not stopped because its queue or its class was deleted.
        runs = view.resource.status.placement is not None
        hold = None if runs else _unplannable(view, snapshot)
        if hold is not None:
            holds.append(hold)
            continue
        pinned = view.name in protected
        job = translator.job(view, cluster, snapshot.now, pinned=pinned)
        jobs += parts_of(replace(job, spot_percent=0) if view.name in hurried else job)
    over = (view for view in snapshot.jobs if is_over(view))
    past = arrivals(role for view in over for role in translator.roles(view))
    problem = replace(_problem(snapshot, cluster, jobs), past=past)
    later = cluster.later or cluster
    alone = replace(problem, nodes=later.nodes, power_domains=later.power_domains)
    feasibility = Feasibility(alone)
    asking = (job for job in jobs if not job.running and not is_missing_part(job))
    lacks = {job.name: feasibility.lacks_alone(job) for job in asking}
    hopeless = {name: lack for name, lack in lacks.items() if lack is not None}
    holds += [_hopeless(JobName(name), lack) for name, lack in hopeless.items()]
    possible = tuple(job for job in problem.jobs if job.name not in hopeless)
    return Question(replace(problem, jobs=possible), tuple(holds), feasibility, hurried)


def _hopeless(name: JobName, lack: Lack) -> Hold:
    return Hold(name, Reason(lack.reason), lack.sentence(), hopeless=True)


def wants_place(view: JobView) -> bool:
    """Whether a job is to run: it is not suspended, finished or on its way out."""
    resource = view.resource
    if resource.metadata.deletion_timestamp is not None or resource.spec.suspend:
        return False
    return not is_over(view)


def is_over(view: JobView) -> bool:
    """Whether a job has completed or failed for good."""
    conditions = view.resource.status.conditions
    return is_true(conditions, "Complete") or is_true(conditions, "Failed")


def _unplannable(view: JobView, snapshot: Snapshot) -> Hold | None:
    """Why a job cannot be planned at all, whatever is free."""
    spec = view.resource.spec
    if view.priority is None:
        name = spec.priority_class_name
        return Hold(
            view.name,
            Reason.PRIORITY_CLASS_NOT_FOUND,
            f"there is no PriorityClass {name}: create it, or change spec.priorityClassName",
            hopeless=True,
        )
    if spec.queue != DEFAULT_QUEUE and spec.queue not in _queue_names(snapshot):
        return Hold(
            view.name,
            Reason.QUEUE_NOT_FOUND,
            f"there is no JobQueue {spec.queue}: create it, or change spec.queue",
            hopeless=True,
        )
    if view.inference is not None and view.inference.spec.target_ref is not None:
        return Hold(
            view.name,
            Reason.INVALID_SPEC,
            "spec.targetRef is not acted on by this version: describe the pods in spec.roles",
            hopeless=True,
        )
    return _refused_of_late(view, snapshot.now)


def _refused_of_late(view: JobView, now: datetime) -> Hold | None:
    """The API server would not have the job's pods, and nothing says that it would now."""
    found = condition(view.resource.status.conditions, "Admitted")
    if found is None or found.reason != Reason.POD_REFUSED:
        return None
    same = found.observed_generation == view.resource.metadata.generation
    if not same or now - found.last_transition_time > REFUSAL_PAUSE:
        return None
    return Hold(view.name, Reason.POD_REFUSED, found.message, hopeless=True)


def _queue_names(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(queue.metadata.name for queue in snapshot.queues)


def _problem(snapshot: Snapshot, cluster: Cluster, jobs: list[Job]) -> Problem:
    return Problem(
        nodes=cluster.nodes,
        jobs=tuple(sorted(jobs, key=lambda job: job.name)),
        queues=_queues(snapshot, cluster, jobs),
        power_domains=cluster.power_domains,
        levels=tuple(level.name for level in cluster.levels),
        weights=solver_weights(snapshot.policy),
    )


def _queues(snapshot: Snapshot, cluster: Cluster, jobs: Iterable[Job]) -> tuple[Queue, ...]:
    """The queues; those that jobs name though they are not there have no shares and no limits."""
    fair = fair_shares(snapshot.queues, cluster.supply_milli(), _asking(snapshot, jobs))
    queues = [
        Queue(
            QueueName(queue.metadata.name),
            QueueName(queue.spec.parent) if queue.spec.parent else None,
            {GpuType(kind): milli for kind, milli in guaranteed(queue).items() if milli},
            {GpuType(kind): milli for kind, milli in limits(queue).items()},
            {GpuType(kind): milli for kind, milli in fair[queue.metadata.name].items()},
        )
        for queue in snapshot.queues
    ]
    missing = {job.queue for job in jobs} - {queue.name for queue in queues}
    return (*queues, *(Queue(name) for name in sorted(missing)))


def _asking(snapshot: Snapshot, jobs: Iterable[Job]) -> dict[str, set[str]]:
    """The queues whose jobs ask for a type, parents included."""
    parents = {queue.metadata.name: queue.spec.parent for queue in snapshot.queues}
    asking: dict[str, set[str]] = defaultdict(set)
    for queue, kind in {(j.queue, kind) for j in jobs for r in j.roles for kind in r.yields}:
        at: str | None = queue
        while at is not None and at not in asking[kind]:
            asking[kind].add(at)
            at = parents.get(at)
    return asking
