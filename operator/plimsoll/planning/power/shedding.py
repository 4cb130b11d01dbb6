"""Shed load in power domains that are over their budget: choose the jobs that yield, and how far.

The steps in a domain's `reaction.order` are taken, on the jobs of lowest priority first. `Shrink`
removes workers and replicas down to the least size; only what that cannot save is left to
`Preempt`, which stops whole jobs. Without `Preempt` the budget is never below what the least sizes
draw; without `Shrink`, or with `Preempt` before it, jobs keep their size or stop.

The solver sees these jobs as if they had already shrunk, each bound to its new size; which of them
then stop, it decides as always: by priority, and by what they have to lose.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from plimsoll.api.power_domain import PowerDomainSpec
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.adjustment import Adjustment
from plimsoll.planning.cluster.fixed_size import assignments_of_role, of_one_size
from plimsoll.planning.cluster.power_model import MILLIWATTS, power_of
from plimsoll_placement.model import (
    WHOLE_GPU_MILLI,
    Assignment,
    Assignments,
    DomainName,
    Job,
    NodeName,
    PowerDomain,
)
from plimsoll_placement.model import JobName as SolverName
from plimsoll_placement.placing.retention import moves_off_closed, spot_share_holds, stayable
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import held_milli
from plimsoll_placement.state.power_budgets import ENDLESS

Steps = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shedding:
    """What is planned for overdrawn domains, and which job may have to yield for which domain.

    `adjustment`: these jobs as if they had already shrunk, and the budgets that then apply.
    """

    adjustment: Adjustment
    domains: Mapping[JobName, DomainName] = field(default_factory=dict[JobName, DomainName])


@dataclass(frozen=True, slots=True)
class _Load:
    """The jobs and what they are to hold, as one domain sees them."""

    domain: PowerDomain
    jobs: Mapping[SolverName, Job]
    """The jobs that draw in the domain."""
    busy: Mapping[NodeName, int]
    """Milliwatts of a whole GPU in typical use, by node of the domain."""
    lowest: Mapping[NodeName, int]
    """What a whole GPU can be capped to, above idle; empty if caps are not relied on."""

    def draws(self, job: Job, assignments: Iterable[Assignment]) -> int:
        """The milliwatts of a job's assignments, each pod rounded up as the solver does."""
        milli = {role.name: role.shape.draw_milli for role in job.roles}
        return sum(
            -(-milli.get(assignment.role, 0) * self.busy.get(name, 0) // WHOLE_GPU_MILLI)
            for assignment in assignments
            for name in assignment.nodes
        )

    def saves(self, job: Job, assignments: Iterable[Assignment]) -> int:
        """The milliwatts saved by removing assignments: what caps leave of their draw."""
        gpus = {role.name: role.shape.gpu_milli for role in job.roles}
        return sum(
            min(
                self.draws(job, [replace(assignment, nodes=(name,))]),
                gpus.get(assignment.role, 0) * self.lowest.get(name, ENDLESS) // WHOLE_GPU_MILLI,
            )
            for assignment in assignments
            for name in assignment.nodes
        )

    def total(self, held: Mapping[SolverName, Assignments]) -> int:
        """The milliwatts of everything held, and of what draws outside Plimsoll's control."""
        drawn = sum(self.draws(job, held[name]) for name, job in self.jobs.items())
        return self.domain.base_milliwatts + drawn


def shedding(problem: Problem, snapshot: Snapshot) -> Shedding:
    """The effect of overdrawn domains' orders on the problem, and the jobs concerned."""
    if not problem.power_domains:
        return Shedding(Adjustment(), {})
    specs = {each.metadata.name: each.spec for each in snapshot.power_domains}
    within = _within(problem)
    held: dict[SolverName, Assignments] = {
        job.name: job.running for job in problem.jobs if job.running
    }
    found: dict[SolverName, DomainName] = {}
    domains: dict[DomainName, PowerDomain] = {}
    for domain in problem.power_domains:
        spec = specs[domain.name]
        load, order = _load(domain, spec, within[domain.name], snapshot), spec.reaction.order
        if {"Shrink", "Preempt"} & {*order} and load.total(held) > domain.budget_milliwatts:
            movable = [job for job in load.jobs.values() if _may_yield(problem, load, job)]
            before = held
            if _shrinks(order):
                held = held | _shrunk(problem, load, movable, held)
            found = {job.name: domain.name for job in movable} | found
            load = replace(load, domain=_with_caps(load, spec, before, held))
        domains[domain.name] = _relieved(load, order, held)
    yielding = [problem.job_by_name[name] for name in found]
    adjustment = Adjustment(
        jobs={job.name: of_one_size(job, held[job.name]) for job in yielding},
        power_domains=domains,
        running={job.name: job.running for job in yielding},
        draws_as_it_runs=True,
    )
    return Shedding(adjustment, {JobName(name): domain for name, domain in found.items()})


@dataclass(slots=True)
class _Within:
    """A domain's nodes, with what a whole GPU draws above idle, and its jobs."""

    busy: dict[NodeName, int] = field(default_factory=dict[NodeName, int])
    jobs: dict[SolverName, Job] = field(default_factory=dict[SolverName, Job])


def _within(problem: Problem) -> Mapping[DomainName, _Within]:
    """The contents of each domain, collected in one pass."""
    found = {domain.name: _Within() for domain in problem.power_domains}
    domains = {node.name: node.power_domains for node in problem.nodes}
    for node in problem.nodes:
        for name in node.power_domains:
            found[name].busy[node.name] = node.busy_milliwatts
    for job in problem.jobs:
        nodes = (node for assignment in job.running for node in assignment.nodes)
        for name in {name for node in nodes for name in domains.get(node, ())}:
            found[name].jobs[job.name] = job
    return found


def _load(domain: PowerDomain, spec: PowerDomainSpec, within: _Within, snapshot: Snapshot) -> _Load:
    relied_on = domain.budget_milliwatts > spec.budget_watts * MILLIWATTS
    lowest = dict(_lowest(within.busy, snapshot)) if relied_on else dict[NodeName, int]()
    return _Load(domain, within.jobs, within.busy, lowest)


def _lowest(names: Iterable[NodeName], snapshot: Snapshot) -> Iterator[tuple[NodeName, int]]:
    for name in names:
        pool = snapshot.pool_by_node.get(name)
        power = power_of(pool) if pool else None
        if power is not None and power.min_cap_watts is not None:
            yield name, (power.min_cap_watts - power.idle_watts) * MILLIWATTS


def _with_caps(
    load: _Load,
    spec: PowerDomainSpec,
    before: Mapping[SolverName, Assignments],
    held: Mapping[SolverName, Assignments],
) -> PowerDomain:
    """The domain with what caps and shrinking jobs leave to it, if caps are relied on.

    What has gone no longer needs a cap, so caps save less, and plans give out less.
    """
    domain = load.domain
    if not load.lowest:
        return domain
    saved = sum(
        load.saves(job, before[name]) - load.saves(job, held[name])
        for name, job in load.jobs.items()
    )
    over = load.total(before) - domain.budget_milliwatts - saved
    left = load.total(held) - max(0, over)
    return replace(domain, budget_milliwatts=max(left, spec.budget_watts * MILLIWATTS))


def _relieved(load: _Load, order: Steps, held: Mapping[SolverName, Assignments]) -> PowerDomain:
    """The domain; if no job may be stopped, its budget is at least what all jobs then draw."""
    domain = load.domain
    if "Shrink" not in order or "Preempt" in order:
        return domain
    return replace(domain, budget_milliwatts=max(domain.budget_milliwatts, load.total(held)))


def _shrinks(order: Steps) -> bool:
    """Whether jobs shrink at all: if they are stopped first, nothing is left to shrink for."""
    before = order[: order.index("Preempt")] if "Preempt" in order else order
    return "Shrink" in before


def _may_yield(problem: Problem, load: _Load, job: Job) -> bool:
    """Whether a job draws in the domain, may be disturbed, and need not move anyway."""
    if job.pinned or not load.draws(job, job.running):
        return False
    return stayable(problem, job) == job.running


def _shrunk(
    problem: Problem, load: _Load, movable: Iterable[Job], held: Mapping[SolverName, Assignments]
) -> dict[SolverName, Assignments]:
    """What jobs hold once enough have shrunk for the domain, the least important first."""
    over = load.total(held) - load.domain.budget_milliwatts
    found: dict[SolverName, Assignments] = {}
    for job in sorted(movable, key=_importance):
        if over <= 0:
            break
        assignments = held[job.name]
        drawn = load.saves(job, assignments)
        for kept in _smaller(problem, load, job, assignments):
            found[job.name], saved = kept, drawn - load.saves(job, kept)
            if saved >= over:
                break
        over -= drawn - load.saves(job, found.get(job.name, assignments))
    return found


def _importance(job: Job) -> tuple[int, int, int, str]:
    """Sort key: low priority goes first, then little loss, then the youngest."""
    loss = job.stop_seconds * held_milli(job, job.running) if job.gang else 0
    return job.priority, loss, -job.sequence, job.name


def _smaller(
    problem: Problem, load: _Load, job: Job, assignments: Assignments
) -> Iterator[Assignments]:
    """What a job could go on with, largest first; what draws in the domain goes first."""
    if not job.gang:
        yield from _fewer_replicas(load, job, assignments)
        return
    if moves_off_closed(problem, job, assignments):
        return
    ordered = sorted(
        assignments, key=lambda assignment: (load.draws(job, [assignment]), assignment.replica)
    )
    by_role = [(role.counts, assignments_of_role(role, tuple(ordered))) for role in job.roles]
    for place, count in reversed([*enumerate(job.roles[0].counts)]):
        parts = (_numbered(mine[: counts[place]]) for counts, mine in by_role)
        kept = tuple(chain.from_iterable(parts))
        if 0 < count < job.size(assignments) and spot_share_holds(problem, job, kept):
            yield kept


def _numbered(assignments: Iterable[Assignment]) -> Assignments:
    """A gang's assignments in order, numbered from 0."""
    ordered = sorted(assignments, key=lambda assignment: assignment.replica)
    return tuple(replace(assignment, replica=number) for number, assignment in enumerate(ordered))


def _fewer_replicas(load: _Load, job: Job, assignments: Assignments) -> Iterator[Assignments]:
    """A service with one replica fewer each time, while each role keeps its least."""
    kept = list(assignments)
    for assignment in sorted(
        assignments, key=lambda assignment: (-assignment.replica, assignment.role)
    ):
        role = job.role(assignment.role)
        if (
            load.draws(job, [assignment])
            and len(assignments_of_role(role, tuple(kept))) > role.least
        ):
            kept.remove(assignment)
            yield tuple(kept)
