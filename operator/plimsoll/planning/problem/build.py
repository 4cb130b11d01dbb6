"""Build the solver's problem from a snapshot, and say why the jobs left out of it must wait."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from plimsoll.api.parts.placement import Assignment
from plimsoll.naming import first_few
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.observe.volumes import Reach, claims_of_job
from plimsoll.planning.actions import Hold
from plimsoll.planning.adjustment import Adjusted, Adjustment
from plimsoll.planning.cluster.cluster import Cluster
from plimsoll.planning.disruption.backoff import may_not_grow, refused_of_late, without_growth
from plimsoll.planning.disruption.budgets import (
    Protection,
    loss_allowance,
    must_leave,
    protection,
)
from plimsoll.planning.disruption.cut_off import cut_off_nodes, may_still_run
from plimsoll.planning.disruption.lost_places import lost_places
from plimsoll.planning.faults import Fault, Guard
from plimsoll.planning.power.budget import planned_budgets
from plimsoll.planning.power.capped import capped_draws
from plimsoll.planning.power.shedding import shedding
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.problem.market import gpu_seconds_bought
from plimsoll.planning.problem.queues import asking, queues
from plimsoll.planning.problem.renewal import Renewal
from plimsoll.planning.problem.weights import solver_weights
from plimsoll.planning.quota.fair_share import with_fair_share_priority
from plimsoll.planning.quota.job_limits import beyond_limits
from plimsoll.planning.quota.reservation import Reservation
from plimsoll.planning.quota.shares import fair_shares
from plimsoll.planning.quota.usage_history import half_life
from plimsoll.planning.serving.phases import with_phases_in_proportion
from plimsoll.planning.serving.pinned_growth import missing_parts
from plimsoll.planning.serving.scale_down import scaled_down
from plimsoll.planning.serving.size_groups import whole_role
from plimsoll.planning.serving.target_jobs import (
    is_bound_by_others,
    is_target_known,
    unusable_target,
)
from plimsoll.planning.spot.deadlines import SpotRules
from plimsoll.planning.training.batch_limits import no_batch
from plimsoll.planning.training.order import hastened
from plimsoll.planning.training.success import has_succeeded
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.explain import Feasibility, Lack
from plimsoll_placement.heuristics.relocation import with_room_on
from plimsoll_placement.model import DomainName, Job, Placements
from plimsoll_placement.model import JobName as SolverName
from plimsoll_placement.problem import Problem
from plimsoll_placement.ranges import out_of_range


@dataclass(frozen=True, slots=True)
class PlanInput:
    """The solver's problem, and the jobs left out of it because they cannot run."""

    problem: Problem
    holds: tuple[Hold, ...]
    feasibility: Feasibility = field(compare=False)
    """Whether jobs could run alone; what is being removed does not count against them."""
    off_spot: Mapping[JobName, str] = field(default_factory=dict[JobName, str], compare=False)
    """The jobs that their deadline keeps off spot, and why."""
    waiting_for_spot: Mapping[JobName, str] = field(
        default_factory=dict[JobName, str], compare=False
    )
    """The jobs that wait for spot although they could start off it, and why."""
    to_spot: AbstractSet[JobName] = field(default=frozenset(), compare=False)
    """The jobs that go to spot, or back to it."""
    relocated: Mapping[JobName, str] = field(default_factory=dict[JobName, str], compare=False)
    """The gangs planned as if they had already moved elsewhere, and why they move."""
    yielding: Mapping[JobName, DomainName] = field(
        default_factory=dict[JobName, DomainName], compare=False
    )
    """The jobs planned as if they had already shrunk, and the power domain that they shrink for."""
    reservation: Reservation | None = field(default=None, compare=False)
    """The nodes that are kept free for a gang."""
    adjustments: tuple[Adjustment, ...] = field(default=(), compare=False)
    """How the problem differs from the cluster, in the order applied."""
    faults: Mapping[JobName, Fault] = field(default_factory=dict[JobName, Fault], compare=False)
    """The faults of jobs that cannot be planned, acted on, or read in their newest version."""
    renewal: Renewal = field(default_factory=Renewal, compare=False)
    """The services whose pod template has changed, and where one more replica is meanwhile."""
    unprotected: Mapping[JobName, str] = field(default_factory=dict[JobName, str], compare=False)
    """The jobs whose protection has ended for the sake of a guarantee, and for which."""

    def original(self, job: Job) -> Job:
        """The job as it was before adjustments that are no change of the job itself."""
        for each in reversed(self.adjustments):
            job = each.restore_original(job)
        return job

    def really_running(self, job: Job) -> Job:
        """The job with its real assignments, even if it is planned as if it ran something else."""
        for each in reversed(self.adjustments):
            job = each.restore_running(job)
        return job

    def whole(self, placements: Placements) -> Placements:
        """The placements, with those of parts merged into their whole jobs."""
        for each in reversed(self.adjustments):
            placements = each.restore_placements(placements)
        return placements

    @property
    def as_it_runs(self) -> Problem:
        """The problem by which power is counted: jobs that yield still draw what they run."""
        problem = self.problem
        for each in reversed(self.adjustments):
            problem = each.restore_draws(problem)
        return problem


def plan_input_of(snapshot: Snapshot, builder: ProblemBuilder) -> PlanInput:
    """The plan input for a snapshot; finished and suspended jobs are left out.

    So are jobs with faults: an error about a job sets it aside, and the input is built again
    without it.
    """
    faults = builder.faults
    while True:
        version, standing = faults.version, faults.standing(snapshot)
        rest = faults.without(snapshot, standing.aside)
        plan_input = _plan_input(rest, builder)
        if faults.version == version:
            held = (view for view in snapshot.jobs if view.name in standing.aside)
            holds = (standing.reported[each.name].hold() for each in held if _waits(each))
            return replace(plan_input, holds=(*plan_input.holds, *holds), faults=standing.reported)


def _waits(view: JobView) -> bool:
    return wants_place(view) and view.resource.status.placement is None


def _plan_input(snapshot: Snapshot, builder: ProblemBuilder) -> PlanInput:
    guard = builder.faults.guard(snapshot.now)
    cluster = builder.cluster(snapshot)
    beyond = beyond_limits(snapshot, guard)
    planned = [view for view in snapshot.present if wants_place(view) and view.name not in beyond]
    rules = _rules(snapshot, cluster, planned, builder, guard)
    jobs, holds = _jobs(planned, rules, builder, guard)
    jobs = builder.exploring(jobs, snapshot, cluster)
    past = builder.past([view for view in snapshot.jobs if view.is_over], guard)
    problem = _bound_to_spot(_problem(snapshot, cluster, jobs, builder), rules.spot, builder)
    adjusted = _counted(replace(problem, past=past), snapshot)
    later = cluster.later or cluster
    alone = replace(adjusted.problem, nodes=later.nodes, power_domains=later.power_domains)
    feasibility = builder.feasibilities.of(alone)
    inadmissible = _lacks_alone(snapshot, jobs, feasibility, guard)
    possible = tuple(job for job in adjusted.problem.jobs if job.name not in inadmissible)
    too_large = tuple(job for job in adjusted.problem.jobs if job.name in inadmissible)
    once_left = replace(alone, jobs=possible) if cluster.later else None
    found = PlanInput(
        replace(adjusted.problem, jobs=possible),
        (*_too_many(beyond), *holds, *_inadmissible(snapshot, inadmissible)),
        feasibility,
        rules.spot.off,
        rules.spot.waiting,
        rules.spot.to,
        adjustments=adjusted.adjustments,
        unprotected=rules.protected.ended,
    )
    found = _adjusted_now(found, snapshot, builder, once_left, too_large)
    return _renewed(found, snapshot, builder)


def _jobs(
    planned: Iterable[JobView], rules: "_Rules", builder: ProblemBuilder, guard: Guard
) -> tuple[list[Job], list[Hold]]:
    """The jobs that the solver plans, and holds for those that it does not."""
    jobs: list[Job] = []
    holds: list[Hold] = []
    for view in planned:
        pinned = view.name in rules.pinned
        known = builder.steady.get(view, pinned=pinned) if view.name not in rules.named else None
        if known is not None:
            jobs.append(known)
            continue
        with guard(view):
            found = _job_or_hold(view, rules, builder)
            if isinstance(found, Hold):
                holds.append(found)
            elif found is not None:
                jobs.append(found)
                if view.name not in rules.named:
                    builder.steady.keep(view, found, pinned=pinned)
    return jobs, holds


def _counted(problem: Problem, snapshot: Snapshot) -> Adjusted:
    """The problem with jobs and budgets as plans count them, whichever jobs get a place."""
    contested = {v.name for v in snapshot.present if v.target is not None and v.target.contested}
    adjusted = Adjusted(problem).by(missing_parts(problem, contested))
    adjusted = adjusted.by(capped_draws(adjusted.problem, snapshot))
    return adjusted.by(planned_budgets(adjusted.problem, snapshot))


def _adjusted_now(
    plan_input: PlanInput,
    snapshot: Snapshot,
    builder: ProblemBuilder,
    once_left: Problem | None,
    too_large: Sequence[Job],
) -> PlanInput:
    """The same, adjusted for reserved nodes, power shedding and relocation."""
    adjusted = Adjusted(plan_input.problem, plan_input.adjustments)
    reservation = builder.reservations.of(adjusted.problem, snapshot, once_left, too_large)
    if reservation is not None:
        adjusted = adjusted.by(reservation.adjustment)
    shed = shedding(adjusted.problem, snapshot)
    adjusted = adjusted.by(shed.adjustment)
    moved = None if shed.domains else builder.relocations.of(snapshot, adjusted.problem)
    if moved is not None:
        adjusted = adjusted.by(moved.adjustment)
    return replace(
        plan_input,
        problem=adjusted.problem,
        adjustments=adjusted.adjustments,
        relocated={} if moved is None else {moved.job: moved.why},
        yielding=shed.domains,
        reservation=reservation,
    )


def _renewed(plan_input: PlanInput, snapshot: Snapshot, builder: ProblemBuilder) -> PlanInput:
    """The same, in which services that are being renewed may have one replica more.

    None gets one while a power domain is over its budget.
    """
    guard, may_add = builder.faults.guard(snapshot.now), not plan_input.yielding
    renewal = builder.renewals.of(snapshot, plan_input.problem, guard, may_add=may_add)
    adjusted = Adjusted(plan_input.problem, plan_input.adjustments).by(renewal.adjustment)
    return replace(
        plan_input,
        problem=adjusted.problem,
        adjustments=adjusted.adjustments,
        renewal=renewal,
    )


@dataclass(frozen=True)
class _Rules:
    """What is known about all jobs before each one is considered."""

    snapshot: Snapshot
    cluster: Cluster
    protected: Protection
    cut_off: AbstractSet[str]
    spot: SpotRules
    lost: Mapping[JobName, tuple[Assignment, ...]]
    """The places to which jobs cannot return."""

    @property
    def pinned(self) -> AbstractSet[JobName]:
        """The jobs that a plan must leave exactly as they are."""
        return self.protected.jobs

    @cached_property
    def named(self) -> AbstractSet[JobName]:
        """The jobs for which there are rules of their own."""
        spot = self.spot
        return {*spot.off, *spot.to, *spot.on, *spot.waiting, *self.lost}


def _rules(
    snapshot: Snapshot,
    cluster: Cluster,
    planned: Sequence[JobView],
    builder: ProblemBuilder,
    guard: Guard,
) -> _Rules:
    protected, cut_off = protection(snapshot, guard), cut_off_nodes(snapshot)
    builder.begin(snapshot, cluster, cut_off)
    spot = builder.spot_rules.rules(snapshot, cluster, planned, builder.eligible, guard)
    lost: dict[JobName, tuple[Assignment, ...]] = {}
    for view in planned if snapshot.closed_nodes else ():
        with guard(view):
            if places := lost_places(view, snapshot):
                lost[view.name] = places
    return _Rules(snapshot, cluster, protected, cut_off, spot, lost)


def _bound_to_spot(problem: Problem, rules: SpotRules, builder: ProblemBuilder) -> Problem:
    """The problem with the gangs on spot alone that go there, and have room beside the others."""
    if not rules.to:
        return problem
    names = [SolverName(name) for name in sorted(rules.to)]
    bound = with_room_on(problem, names, builder.masks.spot)
    return replace(problem, jobs=tuple(bound.get(job.name, job) for job in problem.jobs))


def _job_or_hold(view: JobView, rules: _Rules, builder: ProblemBuilder) -> Job | Hold | None:
    """The solver's job, or a hold if it is not planned; None if there is nothing to report."""
    if not is_target_known(view):
        return None
    snapshot, cluster = rules.snapshot, rules.cluster
    # A running job is not stopped for what its user may not have: it keeps what it was given.
    runs = view.resource.status.placement is not None
    hold = unusable_target(view) or (None if view.stays else may_still_run(view, rules.cut_off))
    hold = hold or (None if runs else _unplannable(view, rules))
    if hold is not None:
        return hold
    pinned = view.name in rules.protected.jobs or is_bound_by_others(view) or view.stays
    job = builder.job(view, cluster, snapshot.now, pinned=pinned)
    if job.pinned and not job.knows_its_roles:
        # What runs under a role that no longer exists cannot be left as it is.
        job = replace(job, pinned=False)
    if fault := out_of_range(job):
        return Hold(view.name, Reason.CANNOT_FIT, fault, inadmissible=True)
    if view.target is not None and view.target.contested:
        return replace(job, pinned=True)
    job = _without_lost_places(job, view, rules, builder)
    job = scaled_down(job, view, cluster)
    if runs and may_not_grow(view, snapshot) and not must_leave(view, snapshot):
        job = without_growth(job, builder.masks.of)
    if not pinned and (view.name in rules.spot.waiting or view.name in rules.spot.on):
        job = builder.on_spot_only(job)
    return replace(job, spot_percent=0) if view.name in rules.spot.off else job


def _without_lost_places(job: Job, view: JobView, rules: "_Rules", builder: ProblemBuilder) -> Job:
    """The job as it can be planned: a replica without its lost place, a gang off those nodes."""
    lost = rules.lost.get(view.name)
    if not lost:
        return job
    if job.gang:
        closed = {name for place in lost for name in place.nodes} & rules.snapshot.closed_nodes
        mask = builder.masks.of(closed)
        roles = (replace(role, eligible=role.eligible & ~mask) for role in job.roles)
        return replace(job, roles=tuple(roles))
    gone = {(place.role, place.replica) for place in lost}
    stay = (a for a in job.running if (whole_role(a.role)[0], a.replica) not in gone)
    return replace(job, running=tuple(stay))


def _lacks_alone(
    snapshot: Snapshot, jobs: Iterable[Job], feasibility: Feasibility, guard: Guard
) -> dict[JobName, Lack]:
    """What each waiting job lacks that could not run even alone."""
    found: dict[JobName, Lack] = {}
    for job in jobs:
        if job.running:
            continue
        with guard(snapshot.job_by_name[JobName(job.name)]):
            lack = feasibility.lacks_alone(job)
            if lack is not None:
                found[JobName(job.name)] = lack
    return found


def _too_many(beyond: Mapping[JobName, str]) -> Iterator[Hold]:
    for name, why in beyond.items():
        yield Hold(name, Reason.TOO_MANY_JOBS, why, inadmissible=True)


def _inadmissible(snapshot: Snapshot, lacks: Mapping[JobName, Lack]) -> Iterator[Hold]:
    for name, lack in lacks.items():
        view = snapshot.job_by_name[name]
        text = lack.sentence() + _bound(view, snapshot.reach) + _left_out(view, snapshot.now)
        yield Hold(name, Reason(lack.reason), text, inadmissible=True)


def _bound(view: JobView, reach: Reach) -> str:
    """The job's claims on volumes that only some nodes reach, to follow what it lacks."""
    claims = sorted(claims_of_job(view.resource) & reach.keys())
    if not claims:
        return ""
    names = first_few([claim.partition("/")[2] for claim in claims])
    its = "claims" if len(claims) > 1 else "claim"
    return f"; only some nodes reach the storage of its {its} {names}"


def _left_out(view: JobView, now: datetime) -> str:
    """The nodes that a job avoids for now, and until when, to follow what it lacks."""
    avoided = [each for each in view.resource.status.avoided_nodes if each.until > now]
    if not avoided:
        return ""
    until = min(each.until for each in avoided)
    names = first_few(sorted(each.node for each in avoided))
    return (
        f"; this leaves out {names} until {until:%H:%M:%S} UTC, since its pods were refused or did"
        " not start there"
    )


def wants_place(view: JobView) -> bool:
    """Whether a job should run: it is not suspended, being deleted, or done, be it just now.

    One that cannot be stopped any more runs on, whatever its user wants.
    """
    resource = view.resource
    if resource.metadata.deletion_timestamp is not None or view.is_over:
        return False
    return view.stays or not (resource.spec.suspend or has_succeeded(view))


def _unplannable(view: JobView, rules: _Rules) -> Hold | None:
    """Why a job is not planned at all, whatever is free."""
    if view.refusal is not None:
        return Hold(view.name, view.refusal.reason, view.refusal.message, inadmissible=True)
    without = no_batch(view.training) if view.training is not None else ""
    if without:
        return Hold(view.name, Reason.INVALID_SPEC, without, inadmissible=True)
    refused = refused_of_late(view, rules.snapshot)
    if refused is None and view.name in rules.spot.waiting:
        return Hold(view.name, Reason.WAITING_FOR_SPOT, rules.spot.waiting[view.name])
    return refused


def _problem(
    snapshot: Snapshot, cluster: Cluster, jobs: list[Job], builder: ProblemBuilder
) -> Problem:
    fair = fair_shares(snapshot.queues, cluster.supply_milli, asking(snapshot, jobs))
    if half_life(snapshot.policy):
        jobs = with_fair_share_priority(jobs, snapshot.queues, fair)
    haste = builder.reservations.haste = hastened(jobs, snapshot, cluster.supply_milli)
    if haste:
        jobs = [
            replace(job, urgency_milli=job.urgency_milli + haste[job.name])
            if job.name in haste
            else job
            for job in jobs
        ]
    problem = Problem(
        nodes=cluster.nodes,
        jobs=tuple(sorted(jobs, key=lambda job: job.name)),
        queues=queues(snapshot, jobs, fair),
        power_domains=cluster.power_domains,
        levels=tuple(level.name for level in cluster.levels),
        weights=solver_weights(snapshot.policy, gpu_seconds_bought(jobs, snapshot)),
        loss_allowance=loss_allowance(snapshot, sum(cluster.supply_milli.values())),
    )
    return with_phases_in_proportion(problem)
