"""The whole cluster in a screen."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from plimsoll.cli.cluster.objects import (
    Condition,
    GPUPool,
    JobObject,
    JobQueue,
    PlacementPolicy,
    PowerDomain,
)
from plimsoll.cli.cluster.reading import Known
from plimsoll.cli.output.report import Line
from plimsoll.cli.views.amounts import number
from plimsoll.cli.views.gpus import Gpus, NodeGpus, gpus_by_type, nodes_with_gpus
from plimsoll.cli.views.jobs import Priorities, WaitingJob, jobs_of, waiting
from plimsoll.cli.views.queues import Queue, queues
from plimsoll.vocabulary.reasons import Reason


class LastPlan(Line, frozen=True):
    """The last plan in numbers; `gap_percent` bounds its distance from the best one."""

    at: datetime | None
    gap_percent: float | None
    admitted: int
    held: int


class Policy(Line, frozen=True):
    """What plans optimise, and whether they are acted on."""

    mode: str
    objective: str
    last_plan: LastPlan | None


class ClosedNode(Line, frozen=True):
    """A node that takes no new pods, and why; `leaves`: its pods must leave it, too."""

    node: str
    gpus: float
    reason: str
    leaves: bool
    message: str


class OrderedNodes(Line, frozen=True):
    """Nodes of a pool that are on their way, by the names of their orders."""

    pool: str
    orders: tuple[str, ...]


class Power(Line, frozen=True):
    """What a power domain draws; `measured_watts` is None while it is not measured."""

    name: str
    measured_watts: int | None
    expected_watts: int
    budget_watts: int
    capped_nodes: int


class Problem(Line, frozen=True):
    """Something that is not as it should be, in the words of the object's own condition."""

    subject: str
    reason: str
    message: str


class Status(Line, frozen=True):
    """Everything about the cluster that an administrator looks at first.

    `policy` is None if there is none, or, unless `policy_is_known`, if it may not be read.
    """

    policy: Policy | None
    policy_is_known: bool
    gpus: tuple[Gpus, ...]
    queues: tuple[Queue, ...]
    running: int
    waiting: tuple[WaitingJob, ...]
    closed_nodes: tuple[ClosedNode, ...]
    ordered_nodes: tuple[OrderedNodes, ...]
    power: tuple[Power, ...]
    problems: tuple[Problem, ...]


def status(known: Known, now: datetime) -> Status:
    """The cluster now."""
    nodes, jobs = nodes_with_gpus(known, now), jobs_of(known)
    return Status(
        policy=_policy(known.of(PlacementPolicy).items),
        policy_is_known=not known.of(PlacementPolicy).missing,
        gpus=gpus_by_type(known, nodes),
        queues=queues(known, now).queues,
        running=sum(job.place is not None for job in jobs),
        waiting=tuple(waiting(jobs, Priorities(known))),
        closed_nodes=tuple(_closed(nodes)),
        ordered_nodes=tuple(_ordered(known.of(GPUPool).items)),
        power=tuple(_power(known.of(PowerDomain).items)),
        problems=tuple(_problems(known, jobs)),
    )


def _policy(policies: Iterable[PlacementPolicy]) -> Policy | None:
    found = next((each for each in policies if each.metadata.name == "default"), None)
    if found is None:
        return None
    last = found.status.last_plan
    plan = None
    if last is not None:
        gap = None if last.gap_percent is None else number(last.gap_percent)
        plan = LastPlan(last.time, gap, last.admitted, last.held)
    return Policy(found.spec.mode or "Enforce", found.spec.objective.preset, plan)


def _closed(nodes: Iterable[NodeGpus]) -> Iterable[ClosedNode]:
    for each in nodes:
        state = each.state
        if not state.open:
            reason = state.reason or Reason.NOT_READY
            yield ClosedNode(
                each.node.metadata.name, each.total, reason, not state.usable, state.message
            )


def _ordered(pools: Iterable[GPUPool]) -> Iterable[OrderedNodes]:
    for pool in pools:
        found = pool.status.provisioning
        if found is not None and found.ordered:
            yield OrderedNodes(pool.metadata.name, found.ordered)


def _power(domains: Iterable[PowerDomain]) -> Iterable[Power]:
    for each in domains:
        found = each.status
        yield Power(
            each.metadata.name,
            found.measured_watts,
            found.expected_watts,
            each.spec.budget_watts,
            found.capped_nodes,
        )


_GOOD = {
    "JobQueue": ("Active", "Accepted"),
    "GPUPool": ("Ready", "Accepted"),
    "PowerDomain": ("WithinBudget", "PowerMeasured", "CapsApplied", "Accepted"),
    "PlacementPolicy": ("Planned", "EnergySignalMeasured", "LedgerCurrent", "Accepted"),
    "TrainingJob": ("Accepted",),
    "InferenceJob": ("Accepted", "LoadKnown", "AbleToScale", "MeetsDeadline"),
}
"""The conditions that should be true, by kind."""
_BAD = ("Degraded",)
"""Those of jobs that should not."""


def _problems(known: Known, jobs: Sequence[JobObject]) -> Iterable[Problem]:
    for kind in (PlacementPolicy, JobQueue, GPUPool, PowerDomain):
        for each in known.of(kind).items:
            yield from _said(kind.__name__, each.metadata.name, each.status.conditions)
    for pool in known.of(GPUPool).items:
        found = pool.status.provisioning
        if found is not None and found.failures:
            text = f"{found.failures} orders of nodes in a row could not be met"
            yield Problem(f"GPUPool/{pool.metadata.name}", Reason.NODE_NOT_TO_BE_HAD, text)
    for job in jobs:
        if not job.is_over:
            where = f"{job.metadata.namespace}/{job.metadata.name}"
            yield from _said(job.kind, where, job.status.conditions)


def _said(kind: str, name: str, conditions: Iterable[Condition]) -> Iterable[Problem]:
    for each in conditions:
        is_wrong = each.type in _GOOD[kind] and each.status == "False"
        if is_wrong or (each.type in _BAD and each.status == "True"):
            yield Problem(f"{kind}/{name}", each.reason, each.message)
