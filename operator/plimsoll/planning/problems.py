"""From a snapshot to the solver's problem, and which jobs are no part of it, with the reason."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.planning.batch import no_batch
from plimsoll.planning.capped import with_capped_draws
from plimsoll.planning.cluster import Cluster
from plimsoll.planning.credit import credited
from plimsoll.planning.deadlines import off_spot
from plimsoll.planning.job_limits import beyond_limits
from plimsoll.planning.jobs import Translator
from plimsoll.planning.parts import is_missing_part, parts_of
from plimsoll.planning.power_budget import with_planned_budgets
from plimsoll.planning.power_order import Yielding, as_it_runs, in_order
from plimsoll.planning.protection import must_leave, protected_jobs
from plimsoll.planning.queue_access import queue_refusal
from plimsoll.planning.refusals import may_not_grow, refused_of_late
from plimsoll.planning.relocation import relocated
from plimsoll.planning.reservation import Reservation
from plimsoll.planning.shares import Milli, fair_shares, guaranteed, limits
from plimsoll.planning.surplus import without_surplus
from plimsoll.planning.targets import is_bound_by_others, is_target_known, unusable_target
from plimsoll.planning.usage_history import half_life
from plimsoll.planning.weights import solver_weights
from plimsoll.telemetry import Reason
from plimsoll_placement.explain import Feasibility, Lack
from plimsoll_placement.foresight import arrivals
from plimsoll_placement.problem import GpuType, Job, Problem, Queue, QueueName
from plimsoll_placement.ranges import out_of_range


@dataclass(frozen=True, slots=True)
class Question:
    """What the solver is asked, and the jobs that it is not asked about because they cannot run."""

    problem: Problem
    holds: tuple[Hold, ...]
    feasibility: Feasibility = field(compare=False)
    """Whether jobs could run alone: what is on its way out does not count against that."""
    off_spot: Mapping[JobName, str] = field(default_factory=dict[JobName, str], compare=False)
    """The jobs that their deadline keeps off spot, and why."""
    relocated: Mapping[JobName, str] = field(default_factory=dict[JobName, str], compare=False)
    """The gangs that are asked about as if they were elsewhere already, and why they go there."""
    yielding: Mapping[JobName, Yielding] = field(
        default_factory=dict[JobName, Yielding], compare=False
    )
    """The jobs that are asked about as if they had shrunk already, for power."""
    reservation: Reservation | None = field(default=None, compare=False)
    """The nodes that are kept for a gang, and who is asked about as if he could not run there."""

    def unreserved(self, job: Job) -> Job:
        """A job as it is where no nodes are kept for others."""
        return self.reservation.kept_off.get(job.name, job) if self.reservation else job

    @property
    def as_it_runs(self) -> Problem:
        """The problem with what really runs of those that are to give way."""
        return as_it_runs(self.problem, self.yielding)


def question(snapshot: Snapshot, translator: Translator) -> Question:
    """The problem of a snapshot; finished and suspended jobs are no part of it."""
    cluster = translator.cluster(snapshot)
    translator.forget_others({view.uid for view in snapshot.jobs})
    protected = protected_jobs(snapshot)
    beyond = beyond_limits(snapshot)
    planned = [view for view in snapshot.jobs if wants_place(view) and view.name not in beyond]
    hurried = off_spot(snapshot, cluster, planned)
    jobs: list[Job] = []
    holds = [Hold(name, Reason.TOO_MANY_JOBS, why, hopeless=True) for name, why in beyond.items()]
    for view in planned:
        if not is_target_known(view):
            continue
        # What runs already is not stopped because its queue or its class was deleted.
        runs = view.resource.status.placement is not None
        hold = unusable_target(view) or (None if runs else _unplannable(view, snapshot))
        if hold is not None:
            holds.append(hold)
            continue
        pinned = view.name in protected or is_bound_by_others(view)
        job = translator.job(view, cluster, snapshot.now, pinned=pinned)
        if fault := out_of_range(job):
            holds.append(Hold(view.name, Reason.CANNOT_FIT, fault, hopeless=True))
            continue
        if view.target is not None and view.target.contested:
            jobs.append(replace(job, pinned=True))
            continue
        job = without_surplus(job, view, cluster)
        if runs and may_not_grow(view, snapshot.now) and not must_leave(view, snapshot):
            jobs.append(replace(job, pinned=True))
            continue
        jobs += parts_of(replace(job, spot_percent=0) if view.name in hurried else job)
    over = (view for view in snapshot.jobs if view.is_over)
    past = arrivals(role for view in over for role in translator.roles(view))
    problem = replace(_problem(snapshot, cluster, jobs), past=past)
    problem = with_planned_budgets(with_capped_draws(problem, snapshot), snapshot)
    later = cluster.later or cluster
    alone = replace(problem, nodes=later.nodes, power_domains=later.power_domains)
    feasibility = translator.feasibilities.of(alone)
    asking = (job for job in jobs if not job.running and not is_missing_part(job))
    lacks = {job.name: feasibility.lacks_alone(job) for job in asking}
    hopeless = {name: lack for name, lack in lacks.items() if lack is not None}
    holds += [_hopeless(JobName(name), lack) for name, lack in hopeless.items()]
    possible = tuple(job for job in problem.jobs if job.name not in hopeless)
    problem, kept = translator.reservations.of(replace(problem, jobs=possible), snapshot)
    problem, yielding = in_order(problem, snapshot)
    asked = Question(problem, tuple(holds), feasibility, hurried, {}, yielding, kept)
    moved = None if yielding else translator.relocations.of(snapshot, problem)
    if moved is None:
        return asked
    why = {moved.job: moved.why}
    return replace(asked, problem=relocated(problem, moved), relocated=why)


def _hopeless(name: JobName, lack: Lack) -> Hold:
    return Hold(name, Reason(lack.reason), lack.sentence(), hopeless=True)


def wants_place(view: JobView) -> bool:
    """Whether a job is to run: it is not suspended, finished or on its way out."""
    resource = view.resource
    if resource.metadata.deletion_timestamp is not None or resource.spec.suspend:
        return False
    return not view.is_over


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
    if (refused := queue_refusal(view, snapshot)) is not None:
        return refused
    without = no_batch(view.training) if view.training is not None else ""
    if without:
        return Hold(view.name, Reason.INVALID_SPEC, without, hopeless=True)
    return refused_of_late(view, snapshot.now)


def _problem(snapshot: Snapshot, cluster: Cluster, jobs: list[Job]) -> Problem:
    fair = fair_shares(snapshot.queues, cluster.supply_milli(), _asking(snapshot, jobs))
    if half_life(snapshot.policy):
        jobs = credited(jobs, snapshot.queues, fair)
    return Problem(
        nodes=cluster.nodes,
        jobs=tuple(sorted(jobs, key=lambda job: job.name)),
        queues=_queues(snapshot, jobs, fair),
        power_domains=cluster.power_domains,
        levels=tuple(level.name for level in cluster.levels),
        weights=solver_weights(snapshot.policy),
    )


def _queues(
    snapshot: Snapshot, jobs: Iterable[Job], fair: Mapping[str, Milli]
) -> tuple[Queue, ...]:
    """The queues; those that jobs name though they are not there have no shares and no limits."""
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
