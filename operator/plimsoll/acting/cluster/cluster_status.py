"""The statuses of queues, pools, power domains and the policy after a plan."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from decimal import Decimal
from typing import Final

from plimsoll.acting.cluster.energy_status import ENERGY_SIGNAL_MEASURED, energy_status
from plimsoll.acting.cluster.ledger_status import LEDGER_CURRENT, ledger_facts
from plimsoll.acting.cluster.power_status import power_status
from plimsoll.acting.conditions.conditions import Fact, with_facts, without
from plimsoll.acting.conditions.unreadable import ACCEPTED
from plimsoll.api.gpu_pool import GPUPool, GPUPoolStatus, ProvisioningStatus
from plimsoll.api.job_queue import JobQueue, JobQueueStatus, QuotaUsage
from plimsoll.api.parts.conditions import Conditions
from plimsoll.api.placement_policy import (
    PlacementPolicy,
    PlacementPolicyStatus,
    PlannedAction,
    PlanSummary,
)
from plimsoll.api.power_domain import PowerDomain, PowerDomainStatus
from plimsoll.api.values.amounts import to_decimal
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Change, Hold, Plan
from plimsoll.planning.capping.reaction import Reaction
from plimsoll.planning.cluster.holdings import Holdings, holdings
from plimsoll.planning.cluster.interruptions import spot_history
from plimsoll.planning.cluster.power_model import unmanaged_milli
from plimsoll.planning.power.history import Observations, domain_deviation, pool_power
from plimsoll.planning.problem.build import wants_place
from plimsoll.planning.quota.shares import guaranteed
from plimsoll.planning.quota.usage_history import UsageHistory, half_life, usage_history
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.model import QueueName
from plimsoll_placement.problem import Problem

ClusterStatus = GPUPoolStatus | JobQueueStatus | PowerDomainStatus | PlacementPolicyStatus
ClusterResource = GPUPool | JobQueue | PowerDomain | PlacementPolicy
MOST_ACTIONS = 512
NOTHING_ORDERED: Final[Mapping[str, ProvisioningStatus]] = {}


def cluster_statuses(
    snapshot: Snapshot,
    problem: Problem,
    plan: Plan,
    reactions: Iterable[Reaction],
    ordered: Mapping[str, ProvisioningStatus] = NOTHING_ORDERED,
) -> Iterator[tuple[ClusterResource, ClusterStatus]]:
    """The new status of each cluster-wide resource whose status has changed.

    `ordered`: what is being bought for pools, by their names.
    """
    all_held = holdings(problem)
    held, used = _held_by_queue(problem, all_held), _held_by_node(all_held)
    observations = Observations(snapshot, problem)
    statuses: list[tuple[ClusterResource, ClusterStatus]] = [
        *_queues(snapshot, problem, held),
        *((pool, _pool(pool, snapshot, used, observations, ordered)) for pool in snapshot.pools),
        *((each.domain, _domain(each, snapshot, observations)) for each in reactions),
    ]
    if snapshot.policy is not None:
        statuses.append((snapshot.policy, _policy(snapshot.policy, snapshot, plan)))
    for resource, status in statuses:
        accepted = _accepted(status)
        if resource.status != accepted:
            yield resource, accepted


def _accepted(status: ClusterStatus) -> ClusterStatus:
    """The status without the condition that the object cannot be read, since it has been."""
    conditions = without(status.conditions, ACCEPTED)
    if conditions == status.conditions:
        return status
    return status.model_copy(update={"conditions": conditions})


def _held_by_queue(problem: Problem, held: Holdings) -> dict[str, dict[str, int]]:
    """The milli-GPUs that jobs hold, by queue (parents included) and type."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (queue, kind, _), milli in held.gpu_milli.items():
        for name in problem.queue_chain.get(queue, ()):
            found[name][kind] += milli
    return found


def _gpus(milli: int) -> Decimal:
    return Decimal(milli) / 1000


def _queues(
    snapshot: Snapshot, problem: Problem, held: Mapping[str, Mapping[str, int]]
) -> Iterator[tuple[JobQueue, JobQueueStatus]]:
    names = {queue.metadata.name for queue in snapshot.queues}
    pending, admitted = _jobs_by_queue(snapshot, problem)
    for queue in snapshot.queues:
        name = queue.metadata.name
        status = _queue(queue, snapshot, problem, held.get(name, {}))
        active = Fact.true("Active", *_active(queue, names))
        yield (
            queue,
            status.model_copy(
                update={
                    "pending": pending[name],
                    "admitted": admitted[name],
                    "conditions": _conditions(queue, [active], snapshot.now),
                }
            ),
        )


def _jobs_by_queue(snapshot: Snapshot, problem: Problem) -> tuple[Counter[str], Counter[str]]:
    """How many jobs wait and how many have a place, by queue (parents included)."""
    pending, admitted = Counter[str](), Counter[str]()
    for job in snapshot.jobs:
        if wants_place(job):
            counts = pending if job.resource.status.placement is None else admitted
            counts.update(problem.queue_chain.get(QueueName(job.resource.spec.queue), ()))
    return pending, admitted


def _active(queue: JobQueue, names: AbstractSet[str]) -> tuple[Reason, str]:
    text, parent = "jobs of the queue can be admitted", queue.spec.parent
    if parent is None or parent in names:
        return Reason.PLANNED, text
    return (
        Reason.QUEUE_NOT_FOUND,
        f"{text}; there is no JobQueue {parent}, so no parent limits apply",
    )


def _queue(
    queue: JobQueue, snapshot: Snapshot, problem: Problem, held: Mapping[str, int]
) -> JobQueueStatus:
    """What a queue uses and has used."""
    used = {kind: milli for kind, milli in held.items() if milli}
    history = usage_history(
        queue,
        {kind: _gpus(milli) for kind, milli in used.items()},
        half_life(snapshot.policy),
        snapshot.now,
    )
    usage = tuple(_usage(queue, problem, used, history))
    return JobQueueStatus(
        observed_generation=queue.metadata.generation,
        usage=usage,
        usage_summary=_summary((u.type, u.used) for u in usage),
        average_summary=_summary((u.type, round(u.average, 1)) for u in usage),
        counted_until=history.counted_until,
    )


def _usage(
    queue: JobQueue, problem: Problem, used: Mapping[str, int], history: UsageHistory
) -> Iterator[QuotaUsage]:
    own, quotas = guaranteed(queue), {quota.type for quota in queue.spec.quotas}
    found = problem.queue_by_name.get(QueueName(queue.metadata.name))
    fair: Mapping[str, int] = {} if found is None else {**found.fair}
    for kind in sorted({*used, *quotas, *history.average, *fair}):
        yield QuotaUsage(
            type=kind,
            used=_gpus(used.get(kind, 0)),
            borrowed=_gpus(max(0, used.get(kind, 0) - own.get(kind, 0))),
            average=history.average.get(kind, Decimal(0)),
            fair_share=_gpus(fair.get(kind, 0)),
        )


def _summary(gpus: Iterable[tuple[str, Decimal]]) -> str:
    """A summary such as: 4 × NVIDIA-L4, 0.5 × NVIDIA-T4."""
    return ", ".join(f"{count.normalize():f} × {kind}" for kind, count in gpus if count)


def _pool(
    pool: GPUPool,
    snapshot: Snapshot,
    used: dict[str, int],
    observations: Observations,
    ordered: Mapping[str, ProvisioningStatus],
) -> GPUPoolStatus:
    nodes = snapshot.nodes_by_pool[pool.metadata.name]
    types = sorted({offer.gpu_type for node in nodes for offer in node.offers})
    alike = len(types) == 1
    of_types = f" with the GPU types {', '.join(types)}" if len(types) > 1 else ""
    message = f"{len(nodes)} nodes{of_types}" if types else "no nodes with GPUs"
    reason = Reason.PLANNED if alike else Reason.NO_ELIGIBLE_NODE
    ready = Fact.of("Ready", reason, message, holds=alike)
    return GPUPoolStatus(
        spot=spot_history(pool, nodes, snapshot.now),
        power=pool_power(pool, observations),
        provisioning=ordered.get(pool.metadata.name),
        observed_generation=pool.metadata.generation,
        conditions=_conditions(pool, [ready], snapshot.now),
        gpu_type=pool.spec.gpu_type or (types[0] if alike else ""),
        nodes=len(nodes),
        nodes_ready=sum(node.state.open for node in nodes),
        gpus=sum(offer.count for node in nodes for offer in node.offers),
        gpus_used=_gpus(sum(used.get(node.name, 0) + unmanaged_milli(node) for node in nodes)),
    )


def _held_by_node(held: Holdings) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for (_, _, node), milli in held.gpu_milli.items():
        found[node] += milli
    return found


def _domain(
    reaction: Reaction, snapshot: Snapshot, observations: Observations
) -> PowerDomainStatus:
    deviation = domain_deviation(reaction.domain, observations)
    return power_status(reaction, snapshot).model_copy(update={"deviation": deviation})


def _policy(policy: PlacementPolicy, snapshot: Snapshot, plan: Plan) -> PlacementPolicyStatus:
    advises = snapshot.advises
    message = "plans are only published" if advises else "plans are carried out"
    actions = [*plan.changes, *plan.holds][:MOST_ACTIONS] if advises else []
    summary = PlanSummary(
        time=plan.made.replace(microsecond=0),
        gap_percent=to_decimal(plan.gap_percent, 2),
        admitted=plan.admitted,
        held=len(plan.holds),
        actions=len(plan.changes),
    )
    energy, known = energy_status(policy, snapshot)
    ledger = ledger_facts(snapshot.ledger, snapshot.now)
    facts = (Fact.true("Planned", Reason.PLANNED, message), *known, *ledger)
    conditions = _conditions(policy, facts, snapshot.now)
    for kind, is_known in ((ENERGY_SIGNAL_MEASURED, known), (LEDGER_CURRENT, ledger)):
        conditions = conditions if is_known else without(conditions, kind)
    return PlacementPolicyStatus(
        observed_generation=policy.metadata.generation,
        conditions=conditions,
        last_plan=summary,
        energy=energy,
        actions=tuple(_action(action) for action in actions),
    )


def _action(action: Change | Hold) -> PlannedAction:
    return PlannedAction(
        job=action.job,
        action=type(action).__name__,
        reason=action.reason,
        message=action.message[:1024],
    )


def _conditions(resource: ClusterResource, facts: Iterable[Fact], now: datetime) -> Conditions:
    generation = resource.metadata.generation
    return with_facts(resource.status.conditions, facts, now=now, generation=generation)
