"""Turn a plan into a report."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from plimsoll.cli.analysis.purchasing import purchase_for, purchase_lines
from plimsoll.cli.analysis.trial import Trial
from plimsoll.cli.analysis.usage import (
    draw_by_domain,
    placed_jobs,
    usage_by_node,
    usage_by_queue,
)
from plimsoll.cli.output.report import (
    GpuLine,
    JobLine,
    Place,
    PowerLine,
    QueueLine,
    Report,
    Summary,
    gpus,
)
from plimsoll.observe.snapshot import JobName, JobView
from plimsoll.planning.actions import Action
from plimsoll.planning.provisioning.buying.unpromised import with_unpromised
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.check.placed import PlacedJob
from plimsoll_placement.check.usage import NodeUsage
from plimsoll_placement.model import Assignment, GpuType, Node, NodeName, Role
from plimsoll_placement.placing.shortfall import lacking_load

MICROWATTS = 1_000_000


def report(trial: Trial) -> Report:
    """The report on a plan."""
    placed = tuple(placed_jobs(trial.result))
    jobs = tuple(_job_lines(trial, placed))
    usage = usage_by_node(placed)
    return Report(
        jobs=tuple(sorted(jobs, key=_order)),
        gpus=tuple(_gpu_lines(trial, usage)),
        queues=tuple(_queue_lines(trial, placed)),
        power_domains=tuple(_power_lines(trial, usage)),
        purchases=tuple(purchase_lines(trial.purchases, trial.snapshot)),
        summary=Summary(
            placed=sum(map(_has_its_place, jobs)),
            waiting=sum(not _has_its_place(line) for line in jobs),
            gap_percent=_rounded_up(trial.plan.gap_percent),
            outcome=trial.plan.outcome,
            seconds=round(trial.seconds, 2),
        ),
    )


def _rounded_up(percent: float) -> float:
    """Rounded up to four decimals, so that "at most" stays true."""
    return math.ceil(percent * 10_000) / 10_000


def _order(line: JobLine) -> tuple[bool, int, str, str, str]:
    priority = line.priority or 0
    return line.priority is None, -priority, line.name, line.namespace, line.kind


def _has_its_place(line: JobLine) -> bool:
    """Whether a job is placed; scaled to zero counts as placed."""
    return bool(line.place) or line.reason == Reason.SCALED_TO_ZERO


@dataclass(frozen=True, slots=True)
class _Fate:
    action: str
    reason: str
    message: str


def _job_lines(trial: Trial, placed: tuple[PlacedJob, ...]) -> Iterator[JobLine]:
    """A line for each job that is not over."""
    place = {JobName(job.job.name): job for job in placed}
    decided = _actions(trial)
    for view in trial.snapshot.jobs:
        if not _is_over(view):
            bought = purchase_for(view.name, trial.purchases, trial.snapshot)
            line = _job_line(view, _fate(view, decided.get(view.name)), place.get(view.name))
            yield msgspec.structs.replace(line, purchase=bought)


def _is_over(view: JobView) -> bool:
    return view.is_over or view.resource.metadata.deletion_timestamp is not None


def _actions(trial: Trial) -> Mapping[JobName, Action]:
    """The action on each job; for a job that is preempted and held, the preemption."""
    holds = with_unpromised(trial.plan.holds, trial.snapshot, trial.purchases.served)
    return {each.job: each for each in (*holds, *trial.plan.changes)}


def _fate(view: JobView, action: Action | None) -> _Fate:
    if action is not None:
        return _Fate(type(action).__name__, action.reason, action.message)
    if view.resource.spec.suspend and not view.stays:
        return _Fate("Hold", Reason.SUSPENDED, "set spec.suspend to false to let it run")
    return _Fate("Keep", view.resource.status.reason, view.resource.status.message)


def _job_line(view: JobView, fate: _Fate, placed: PlacedJob | None) -> JobLine:
    resource = view.resource
    return JobLine(
        kind=resource.kind,
        namespace=resource.metadata.namespace,
        name=resource.metadata.name,
        queue=resource.spec.queue,
        priority=view.priority,
        action=fate.action,
        reason=fate.reason,
        message=fate.message,
        place=tuple(places((r.role, r.assignment) for r in placed.replicas)) if placed else (),
        missing=", ".join(_missing(placed)) if placed else "",
    )


def places(replicas: Iterable[tuple[Role, Assignment]]) -> Iterator[Place]:
    """Where replicas are, by role and GPU type."""
    nodes: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for role, at in replicas:
        for name in at.nodes:
            nodes[at.role, at.gpu_type][name] += role.shape.gpu_milli
    for (name_of_role, kind), milli in nodes.items():
        by_node = {name: gpus(milli[name]) for name in sorted(milli)}
        yield Place(name_of_role, kind, gpus(sum(milli.values())), by_node)


def _missing(placed: PlacedJob) -> Iterator[str]:
    """Replicas of each role without a place; a gang has all or waits."""
    for role in placed.job.roles if not placed.job.gang else ():
        got = tuple(replica.assignment for replica in placed.replicas if replica.role is role)
        lacking = lacking_load(role, got)
        if lacking > 0 and len(got) < role.counts[-1]:
            more = math.ceil(lacking / max(milli[0] for milli in role.yields.values()))
            more = min(more, role.counts[-1] - len(got))
            yield f"{more} of {len(got) + more} {role.name} replicas"


def _gpu_lines(trial: Trial, usage: Mapping[NodeName, NodeUsage]) -> Iterator[GpuLine]:
    free, used, others = defaultdict[str, int](int), defaultdict[str, int](int), _unmanaged(trial)
    for node in trial.result.problem.nodes:
        for devices in node.devices:
            free[devices.gpu_type] += sum(devices.free_milli)
        for kind, millis in usage.get(node.name, NodeUsage()).requested_millis.items():
            used[kind] += sum(_granted(node, kind, milli) for milli in millis)
    for kind in sorted(free):
        total = free[kind] + others.get(kind, 0)
        yield GpuLine(kind, gpus(total), gpus(used[kind]), gpus(others.get(kind, 0)))


def _unmanaged(trial: Trial) -> Mapping[str, int]:
    """Milli-GPUs by type that unmanaged pods hold."""
    held = defaultdict[str, int](int)
    for node, view in zip(trial.result.problem.nodes, trial.snapshot.nodes, strict=True):
        for devices, offer in zip(node.devices, view.offers, strict=True):
            taken = view.unmanaged_units.get(offer.resource, 0)
            held[devices.gpu_type] += taken * offer.share_milli
    return held


def _granted(node: Node, kind: GpuType, milli: int) -> int:
    """What a pod of this size takes: a whole share if devices are shared."""
    offers = (each.granted_milli(milli) for each in node.devices if each.gpu_type == kind)
    return next((granted for granted in offers if granted is not None), milli)


def _queue_lines(trial: Trial, placed: tuple[PlacedJob, ...]) -> Iterator[QueueLine]:
    used = usage_by_queue(trial.result.problem, placed)
    for queue in trial.result.problem.queues:
        held = {kind for (name, kind), milli in used.items() if name == queue.name and milli}
        for kind in sorted(held.union(queue.guaranteed, queue.limit)):
            yield QueueLine(
                name=queue.name,
                accelerator_type=kind,
                used=gpus(used.get((queue.name, kind), 0)),
                guaranteed=gpus(queue.guaranteed.get(kind, 0)),
                limit=gpus(queue.limit[kind]) if kind in queue.limit else None,
            )


def _power_lines(trial: Trial, usage: dict[NodeName, NodeUsage]) -> Iterator[PowerLine]:
    problem = trial.result.problem
    draw = draw_by_domain(problem.nodes, usage)
    for domain in problem.power_domains:
        drawn = domain.base_milliwatts * 1000 + draw.get(domain.name, 0)
        budget = domain.budget_milliwatts * 1000 // MICROWATTS
        yield PowerLine(domain.name, -(-drawn // MICROWATTS), budget)
