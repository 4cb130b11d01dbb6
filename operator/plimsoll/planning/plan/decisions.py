"""Turn the solver's placements into a plan: what changes for each job, which jobs wait, and why."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

from plimsoll.api.inference_job import RoleStatus
from plimsoll.naming import first_few
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.actions import Admit, Change, Hold, Migrate, Plan, Preempt, Resize
from plimsoll.planning.disruption.budgets import kept_by_budgets
from plimsoll.planning.disruption.lost_places import lost_places
from plimsoll.planning.plan.newcomers import Newcomers
from plimsoll.planning.plan.why_moved import what_it_gains, why_not_there
from plimsoll.planning.problem.build import PlanInput
from plimsoll.planning.problem.running import running_assignments
from plimsoll.planning.quota.reservation import Reservation
from plimsoll.planning.training.batch_choice import better_batch
from plimsoll.planning.training.rates import expected_rates, knows_its_unit
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.explain import Explainer, Lack
from plimsoll_placement.model import (
    NO_GPUS,
    WHOLE_GPU_MILLI,
    Assignment,
    Assignments,
    GpuType,
    Job,
    NodeName,
    Placements,
)
from plimsoll_placement.placing.retention import is_on_spot
from plimsoll_placement.placing.shortfall import missing
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.price import pays, weighed_gain, weighed_loss
from plimsoll_placement.score.worth import lost_work
from plimsoll_placement.solution import Solution

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan input with the solver's solution.

    `changed`: the jobs that have changed since they were planned. They are planned next, and until
    then nothing changes for them and they are not reported as waiting.
    """

    plan_input: PlanInput
    solution: Solution
    changed: AbstractSet[JobName] = frozenset()

    @property
    def problem(self) -> Problem:
        """The problem that was solved."""
        return self.plan_input.problem

    @property
    def placements(self) -> Placements:
        """What each job gets as a whole."""
        return self.plan_input.whole(self.solution.placements)


def holds_now(plan: Plan, plan_input: PlanInput) -> list[Hold]:
    """The jobs that wait now: those of the plan that still do, and those that cannot be planned.

    A job that was inadmissible when the plan was made, but is part of the problem now, no longer
    is.
    """
    waiting = {job.name for job in plan_input.problem.jobs if not job.running}
    holds = (hold for hold in plan.holds if hold.job in waiting and not hold.inadmissible)
    return [*holds, *plan_input.holds]


def plan_of(snapshot: Snapshot, result: PlanResult) -> Plan:
    """The plan that takes the cluster from what runs to what the solver found."""
    whole = (job for job in result.problem.jobs if job.part_of is None)
    jobs = [_as_it_runs(snapshot, result, job) for job in sorted(whole, key=_turn)]
    placements = result.placements
    assignments = {job.name: placements.get(job.name, ()) for job in jobs}
    planned = [job for job in jobs if JobName(job.name) not in result.changed]
    plan_input = result.plan_input
    explainer = Explainer(plan_input.problem, result.solution.placements, plan_input.feasibility)
    holds = (*plan_input.holds, *_holds(snapshot, result, explainer))
    decided = _Decided(snapshot, result, {hold.job: hold.message for hold in holds})
    changes = [
        _with_loss(_with_end_of_protection(change, plan_input), job)
        for job in planned
        if (change := _change(decided, job, assignments[job.name])) is not None
    ]
    return Plan(
        made=snapshot.now,
        changes=tuple(sorted(changes, key=_takes)),
        holds=holds,
        gap_percent=result.solution.gap_percent,
        outcome=result.solution.outcome,
        admitted=sum(bool(each) for each in assignments.values()),
        short={
            JobName(job.name): _short_of(job, result, explainer)
            for job in planned
            if _is_short(job, assignments[job.name])
        },
    )


@dataclass(frozen=True)
class _Decided:
    """What was decided for all jobs, to which the sentence about one may refer.

    `lacks`: why those without a place have none.
    """

    snapshot: Snapshot
    result: PlanResult
    lacks: Mapping[JobName, str]

    @cached_property
    def newcomers(self) -> Newcomers:
        """Who gets what others may have given up."""
        return Newcomers(self.result.problem.jobs, self.result.solution.placements)


def _with_end_of_protection(change: Change, plan_input: PlanInput) -> Change:
    """The change, which also says why the job is no longer protected, if that is so."""
    why = plan_input.unprotected.get(change.job)
    return change if why is None else replace(change, message=f"{change.message}; {why}")


def _with_loss(change: Change, job: Job) -> Change:
    """The change, with the work that it throws away if it moves or stops a gang.

    What more important jobs preempt is theirs to pay for, not the disruption budget's.
    """
    if isinstance(change, Admit | Resize) or change.reason is Reason.PREEMPTED or not job.gang:
        return change
    now = () if isinstance(change, Preempt) else change.assignments
    return replace(change, lost_gpu_seconds=lost_work(job, now) // WHOLE_GPU_MILLI)


def _as_it_runs(snapshot: Snapshot, result: PlanResult, job: Job) -> Job:
    """The job with everything that it runs, even where the solver saw something else.

    A service may run replicas that it no longer wants and that no plan input includes.
    """
    if job.gang:
        return result.plan_input.really_running(job)
    resource = snapshot.job_by_name[JobName(job.name)].resource
    return replace(job, running=running_assignments(resource))


def _turn(job: Job) -> tuple[int, int, str]:
    """Sort key: not all changes can be written at once, so important and old jobs come first."""
    return -job.priority, job.sequence, job.name


def _takes(change: Change) -> bool:
    """Sort key: changes that free capacity come before those that take it."""
    return not isinstance(change, Preempt)


def _change(decided: _Decided, job: Job, assignments: Assignments) -> Change | None:
    """What changes for a job."""
    name, snapshot = JobName(job.name), decided.snapshot
    if not any(role.least for role in job.roles):
        return _to_zero(snapshot, job)
    if set(assignments) == set(job.running):
        return _other_batch(snapshot, job, assignments)
    if not job.running:
        text = f"placed: {assignments_text(assignments)}{_on_trust(snapshot, name)}"
        return Admit(name, assignments, Reason.ADMITTED, text)
    if not assignments:
        return _preempt(decided, job)
    return _moved(decided, job, assignments)


def _on_trust(snapshot: Snapshot, name: JobName) -> str:
    """That nothing is known yet of a job's speeds by which its place was chosen, in words."""
    job = snapshot.job_by_name[name].training
    if job is None or knows_its_unit(job) or len(job.spec.accelerators) == 1:
        return ""
    return "; speeds are assumed from published figures until its workers report"


def _other_batch(snapshot: Snapshot, job: Job, assignments: Assignments) -> Change | None:
    """Restart a job that keeps its place with another batch, if that pays off."""
    training = snapshot.job_by_name[JobName(job.name)].training
    if job.pinned or training is None or training.status.placement is None:
        return None
    better, was = better_batch(training, snapshot.now), training.status.placement.batch
    if better is None or was is None:
        return None
    text = f"batch from {was.size} to {better.size}: {assignments_text(assignments)}"
    return Migrate(JobName(job.name), assignments, Reason.BATCH_CHANGED, text)


def _moved(decided: _Decided, job: Job, assignments: Assignments) -> Change:
    """The change for a job whose places differ from before."""
    snapshot, result = decided.snapshot, decided.result
    name, domain = JobName(job.name), _overdrawn(result, job, assignments)
    was, now = job.size(job.running), job.size(assignments)
    if was != now:
        why = _gives_way(decided, job) if job.gang and now < was else _for_load(snapshot, job)
        why = _for_renewal(result, job, now - was) or why
        why = f", power domain {domain} has too little power left" if domain else why
        text = f"from {was} to {now} {_noun(job)}{why}: {assignments_text(assignments)}"
        return Resize(name, assignments, Reason.RESIZED, text, domain)
    why = result.plan_input.relocated.get(name)
    if why is not None:
        text = f"{why}: moved to {assignments_text(assignments)}"
        return Migrate(name, assignments, Reason.STRAGGLER_REPLACED, text)
    left = _unusable_nodes(snapshot, job)
    if left:
        text = f"left {', '.join(left)}, now {assignments_text(assignments)}"
        chosen = _leaves_by_choice(snapshot, job)
        return Migrate(name, assignments, Reason.MIGRATED if chosen else Reason.NODE_LEFT, text)
    text = f"moved to {assignments_text(assignments)}"
    why = _why_moved(decided, job, assignments)
    why = f", power domain {domain} has too little power left" if domain else why
    return Migrate(name, assignments, Reason.MIGRATED, text + why, domain)


def _why_moved(decided: _Decided, job: Job, assignments: Assignments) -> str:
    """Why a job moves off nodes that are in order, to follow where it goes; "" if none is known."""
    bar = _bar(decided, job)
    if bar:
        return bar
    if Counter(each.role for each in job.running) != Counter(each.role for each in assignments):
        return _for_load(decided.snapshot, job)
    problem = decided.result.problem
    room = _listed(decided.newcomers.on(_left_behind(job, assignments), job))
    gain = weighed_gain(problem, job, job.running, assignments)
    loss = weighed_loss(problem, job, job.running, assignments)
    if room and not (gain > 0 and pays(problem, gain, loss)):
        return f", makes room for {room}"
    gains = what_it_gains(problem, job, assignments, _speed(decided.snapshot, job, assignments))
    return f": {gains}" if gains else ""


def _bar(decided: _Decided, job: Job) -> str:
    """What keeps a job from staying where it is, whatever else it could have; "" if nothing."""
    name, plan_input = JobName(job.name), decided.result.plan_input
    problem = decided.result.problem
    if not job.knows_its_roles:
        return ": its roles have changed"
    if job.name in decided.result.solution.reseated:
        return ", where a shared GPU has more memory left for its load"
    if name in plan_input.off_spot and any(is_on_spot(problem, each) for each in job.running):
        return f", off spot: {plan_input.off_spot[name]}"
    why = "" if name in plan_input.to_spot else why_not_there(problem, plan_input.original(job))
    return f": {why}" if why else ""


def _left_behind(job: Job, assignments: Assignments) -> set[NodeName]:
    """The nodes on which a job will have fewer pods than now."""
    was, will = (
        Counter(name for each in placed for name in each.nodes)
        for placed in (job.running, assignments)
    )
    return set(was - will)


def _speed(snapshot: Snapshot, job: Job, assignments: Assignments) -> float:
    """How fast a gang's new GPUs are for it, relative to those it has; 1.0 if that is unknown."""
    training = snapshot.job_by_name[JobName(job.name)].training
    if training is None:
        return 1.0
    workers = job.size(assignments)
    rates = expected_rates(training, (workers,))
    was, will = (
        rates.get((placed[0].gpu_type, workers), 0.0) for placed in (job.running, assignments)
    )
    return will / was if was and will else 1.0


def _overdrawn(result: PlanResult, job: Job, assignments: Assignments) -> str:
    """The power domain over its budget in which a job gives up pods, "" if there is none."""
    domain = result.plan_input.yielding.get(JobName(job.name))
    if domain is None:
        return ""
    inside = {node.name for node in result.problem.nodes if domain in node.power_domains}
    return domain if _pods_on(inside, assignments) < _pods_on(inside, job.running) else ""


def _pods_on(nodes: Container[NodeName], assignments: Assignments) -> int:
    return sum(name in nodes for assignment in assignments for name in assignment.nodes)


def _gives_way(decided: _Decided, job: Job) -> str:
    """The jobs that a gang shrinks for, in words; "" if there are none."""
    listed = _listed(decided.newcomers.in_place_of(job))
    return f", makes room for {listed}" if listed else ""


def _for_load(snapshot: Snapshot, job: Job) -> str:
    """The load for which a service grows or shrinks, in words."""
    service = snapshot.job_by_name[JobName(job.name)].inference
    if service is None or service.spec.replicas is not None:
        return ""
    several = len(service.status.roles) > 1
    loads = [
        f"{role.name} {_wanted(role):f}" if several else f"{_wanted(role):f}"
        for role in service.status.roles
        if role.loads
    ]
    return f" for a load of {', '.join(loads)}" if loads else ""


def _for_renewal(result: PlanResult, job: Job, more: int) -> str:
    """That a service has one replica more while its pod template is rolled out, in words."""
    name, renewal = JobName(job.name), result.plan_input.renewal
    if more == 1 and name in renewal.added:
        return ", one more until those of the old pod template are renewed"
    if more == -1 and name in renewal.ending:
        return ", the last one of the old pod template goes"
    return ""


def _wanted(role: RoleStatus) -> Decimal:
    """The load that a role should carry, over all sizes."""
    return sum((load.wanted for load in role.loads), Decimal())


def _to_zero(snapshot: Snapshot, job: Job) -> Change | None:
    """The change for a job of which nothing is wanted: it is admitted with no replicas."""
    name, text = JobName(job.name), "no replicas are wanted"
    if job.running:
        return Resize(name, (), Reason.SCALED_TO_ZERO, text)
    if snapshot.job_by_name[name].resource.status.placement is None:
        return Admit(name, (), Reason.SCALED_TO_ZERO, text)
    return None


def _noun(job: Job) -> str:
    return "workers" if job.gang else "replicas"


def _preempt(decided: _Decided, job: Job) -> Preempt:
    name, snapshot, result = JobName(job.name), decided.snapshot, decided.result
    left = _unusable_nodes(snapshot, job)
    if left:
        why = result.plan_input.waiting_for_spot.get(name, "there is no other place")
        text = f"it must leave {', '.join(left)}, and {why}"
        chosen = _leaves_by_choice(snapshot, job)
        return Preempt(name, Reason.EVICTED if chosen else Reason.NODE_LEFT, text)
    domain = _overdrawn(result, job, ())
    if domain:
        text = f"power domain {domain} has too little power left for it"
        return Preempt(name, Reason.EVICTED, text, power_domain=domain)
    winners, lack = decided.newcomers.in_place_of(job), decided.lacks.get(name, "")
    names = tuple(dict.fromkeys(JobName(winner.whole_name) for winner in winners))
    if not winners:
        text = "its place no longer fits within the limits"
        return Preempt(name, Reason.EVICTED, f"{text}: {lack}" if lack else text)
    listed = _listed(winners)
    if max(w.priority for w in winners) > job.priority:
        return Preempt(name, Reason.PREEMPTED, f"makes room for {listed}", names)
    return Preempt(name, Reason.RECLAIMED, f"returns what is guaranteed to {listed}", names)


def _listed(winners: Iterable[Job]) -> str:
    return ", ".join(f"{w.whole_name} (priority {w.priority})" for w in list(winners)[:3])


def _unusable_nodes(snapshot: Snapshot, job: Job) -> list[str]:
    nodes = snapshot.node_by_name
    return [
        f"{name} ({nodes[name].state.reason})" if name in nodes else f"{name} (gone)"
        for name in _left_nodes(snapshot, job)
    ]


def _left_nodes(snapshot: Snapshot, job: Job) -> list[str]:
    """The nodes of a job that are gone or of no more use to it, by name."""
    nodes, names = snapshot.node_by_name, {name for a in job.running for name in a.nodes}
    view = snapshot.job_by_name[JobName(job.name)]
    lost = {name for place in lost_places(view, snapshot) for name in place.nodes}
    lost &= snapshot.closed_nodes
    return sorted(n for n in names if n in lost or n not in nodes or not nodes[n].state.usable)


def _leaves_by_choice(snapshot: Snapshot, job: Job) -> bool:
    """Whether a job leaves nodes only since they are emptied to be given back."""
    left = [snapshot.node_by_name.get(name) for name in _left_nodes(snapshot, job)]
    return all(node is not None and node.state.reason is Reason.NODE_EMPTIED for node in left)


def _is_short(job: Job, assignments: Assignments) -> bool:
    """Whether a job has a place, but carries less in some role than is wanted."""
    return (
        bool(assignments) and not job.gang and any(missing(role, assignments) for role in job.roles)
    )


def _holds(snapshot: Snapshot, result: PlanResult, explainer: Explainer) -> Iterable[Hold]:
    kept = kept_by_budgets(snapshot)
    ended = result.plan_input.unprotected
    budgets = _by_type(
        {name: those for name, those in kept.items() if name not in ended}, result.problem
    )
    for job in result.problem.jobs:
        if JobName(job.whole_name) in result.changed:
            continue
        if not result.solution.placements.get(job.name) and any(r.least for r in job.roles):
            yield _hold(job, result, explainer, budgets)


def _hold(
    job: Job, result: PlanResult, explainer: Explainer, budgets: Mapping[GpuType, AbstractSet[str]]
) -> Hold:
    name, kept = JobName(job.name), result.plan_input.reservation
    if name in result.plan_input.waiting_for_spot:
        return Hold(name, Reason.WAITING_FOR_SPOT, result.plan_input.waiting_for_spot[name])
    found = _obstacle(job, result, explainer)
    if isinstance(found, Reservation):
        return Hold(name, Reason.RESERVED, found.to_others())
    text = found.sentence() + _by_budgets(found, budgets)
    if kept is not None and name == kept.job:
        text = f"{text}; {kept.to_the_gang()}"
    return Hold(name, Reason(found.reason), text)


def _short_of(job: Job, result: PlanResult, explainer: Explainer) -> str:
    """What a service lacks that has a place."""
    found = _obstacle(job, result, explainer)
    return found.to_others() if isinstance(found, Reservation) else found.sentence()


def _obstacle(job: Job, result: PlanResult, explainer: Explainer) -> Lack | Reservation:
    """What a job lacks, or the reservation if only that keeps it from its place."""
    kept, lack = result.plan_input.reservation, explainer.lack(job)
    original = result.plan_input.original(job)
    if kept is None or not lack.shortages or original is job:
        return lack
    lack = explainer.lack(original)
    return lack if lack.shortages else kept


def _by_type(
    kept: Mapping[JobName, tuple[str, ...]], problem: Problem
) -> Mapping[GpuType, AbstractSet[str]]:
    """The PodDisruptionBudgets that hold jobs in place, by the GPU types of these."""
    found: dict[GpuType, set[str]] = {}
    for job in problem.jobs if kept else ():
        if budgets := kept.get(JobName(job.whole_name)):
            for assignment in job.running:
                found.setdefault(assignment.gpu_type, set()).update(budgets)
    return found


def _by_budgets(lack: Lack, budgets: Mapping[GpuType, AbstractSet[str]]) -> str:
    """The PodDisruptionBudgets that protect the jobs which a waiting job would need moved."""
    types = {each.ask.gpu_type for each in lack.shortages if each.pinned_milli}
    names = {name for kind in types for name in budgets.get(kind, ())}
    if not names:
        return ""
    what = "PodDisruptionBudget" if len(names) == 1 else "PodDisruptionBudgets"
    return f"; moving them would violate {what} {', '.join(sorted(names)[:_MOST_NAMED])}"


def assignments_text(assignments: Iterable[Assignment]) -> str:
    """Where the pods are, by GPU type: `NVIDIA-L4 on node-1 ×3, node-2; no GPU on node-9`."""
    by_type: dict[str, dict[str, int]] = {}
    for assignment in assignments:
        pods = by_type.setdefault(assignment.gpu_type, {})
        for name in assignment.nodes:
            pods[name] = pods.get(name, 0) + 1
    bare = by_type.pop(NO_GPUS, None)
    listed = [*sorted(by_type.items()), *([("no GPU", bare)] if bare else [])]
    return "; ".join(f"{kind} on {nodes_text(pods)}" for kind, pods in listed)


def nodes_text(pods: Mapping[str, int], most: int = 4) -> str:
    """The nodes with how many pods each has, the first few by name: `node-1 ×3, node-2`."""
    listed = [f"{name} ×{n}" if n > 1 else name for name, n in sorted(pods.items())]
    return first_few(listed, most)
