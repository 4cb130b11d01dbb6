"""What queues, pools, power domains and the policy say of themselves after a plan."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from plimsoll.api.conditions import Condition, Conditions, with_condition
from plimsoll.api.gpu_pool import GPUPool, GPUPoolStatus
from plimsoll.api.job_queue import JobQueue, JobQueueStatus, QuotaUsage
from plimsoll.api.placement_policy import (
    PlacementPolicy,
    PlacementPolicyStatus,
    PlannedAction,
    PlanSummary,
)
from plimsoll.api.power_domain import PowerDomain, PowerDomainStatus
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.planning.actions import Change, Hold, Plan
from plimsoll.planning.cluster import pool_of
from plimsoll.planning.problems import wants_place
from plimsoll.planning.shares import guaranteed
from plimsoll.planning.spot_history import spot_history
from plimsoll.telemetry import Reason
from plimsoll_placement.problem import Assignment, Job, Problem, QueueName

ClusterStatus = GPUPoolStatus | JobQueueStatus | PowerDomainStatus | PlacementPolicyStatus
ClusterResource = GPUPool | JobQueue | PowerDomain | PlacementPolicy
MOST_ACTIONS = 512


def cluster_statuses(
    snapshot: Snapshot, problem: Problem, plan: Plan
) -> Iterator[tuple[ClusterResource, ClusterStatus]]:
    """The new status of each cluster-wide resource whose status differs from it."""
    held, used = _held(problem), _milli_by_node(problem)
    statuses: list[tuple[ClusterResource, ClusterStatus]] = [
        *((queue, _queue(queue, snapshot, problem, held)) for queue in snapshot.queues),
        *((pool, _pool(pool, snapshot, used)) for pool in snapshot.pools),
        *((domain, _domain(domain, snapshot, problem, used)) for domain in snapshot.power_domains),
    ]
    if snapshot.policy is not None:
        statuses.append((snapshot.policy, _policy(snapshot.policy, snapshot, plan)))
    for resource, status in statuses:
        if resource.status != status:
            yield resource, status


def _held(problem: Problem) -> dict[tuple[str, str], int]:
    """Milli-GPUs that jobs hold by queue, parents included, and type."""
    held: dict[tuple[str, str], int] = defaultdict(int)
    for job in problem.jobs:
        for assignment in job.running:
            for queue in problem.queue_chain.get(job.queue, ()):
                held[queue, assignment.gpu_type] += _milli(job, assignment)
    return held


def _milli(job: Job, assignment: Assignment) -> int:
    role = next((r for r in job.roles if r.name == assignment.role), None)
    return role.shape.gpu_milli * len(assignment.nodes) if role else 0


def _gpus(milli: int) -> Decimal:
    return Decimal(milli) / 1000


def _queue(
    queue: JobQueue, snapshot: Snapshot, problem: Problem, held: dict[tuple[str, str], int]
) -> JobQueueStatus:
    name, own = queue.metadata.name, guaranteed(queue)
    used = {kind: milli for (of, kind), milli in held.items() if of == name and milli}
    kinds = sorted({*used, *(quota.type for quota in queue.spec.quotas)})
    usage = tuple(
        QuotaUsage(
            type=kind,
            used=_gpus(used.get(kind, 0)),
            borrowed=_gpus(max(0, used.get(kind, 0) - own.get(kind, 0))),
        )
        for kind in kinds
    )
    jobs = [job for job in snapshot.jobs if _in_queue(job.resource.spec.queue, name, problem)]
    waiting = [job for job in jobs if wants_place(job)]
    admitted = sum(job.resource.status.placement is not None for job in waiting)
    status = JobQueueStatus(
        observed_generation=queue.metadata.generation,
        usage=usage,
        usage_summary=", ".join(f"{u.used.normalize():f} × {u.type}" for u in usage if u.used),
        pending=len(waiting) - admitted,
        admitted=admitted,
    )
    reason, text = Reason.PLANNED, "jobs of the queue can be admitted"
    parent = queue.spec.parent
    if parent is not None and parent not in {each.metadata.name for each in snapshot.queues}:
        reason = Reason.QUEUE_NOT_FOUND
        text += f"; there is no JobQueue {parent}, so no limits of a parent hold"
    return status.model_copy(
        update={"conditions": _with(queue, snapshot.now, "Active", reason, text)}
    )


def _in_queue(queue: str, name: str, problem: Problem) -> bool:
    return name in problem.queue_chain.get(QueueName(queue), ())


def _pool(pool: GPUPool, snapshot: Snapshot, used: dict[str, int]) -> GPUPoolStatus:
    nodes = [n for n in snapshot.nodes if pool_of(n, snapshot.pools) is pool]
    types = sorted({offer.gpu_type for node in nodes for offer in node.offers})
    alike = len(types) == 1
    message = f"{len(nodes)} nodes" if alike else f"{len(nodes)} nodes with GPU types {types}"
    reason = Reason.PLANNED if alike else Reason.NO_ELIGIBLE_NODE
    return GPUPoolStatus(
        spot=spot_history(pool, nodes, snapshot.now),
        observed_generation=pool.metadata.generation,
        conditions=_with(pool, snapshot.now, "Ready", reason, message, holds=alike),
        gpu_type=pool.spec.gpu_type or (types[0] if alike else ""),
        nodes=len(nodes),
        nodes_ready=sum(node.state.open for node in nodes),
        gpus=sum(offer.count for node in nodes for offer in node.offers),
        gpus_used=_gpus(sum(used.get(node.name, 0) + _foreign_milli(node) for node in nodes)),
    )


def _foreign_milli(node: NodeView) -> int:
    return sum(
        node.foreign_units.get(offer.resource, 0) * offer.share_milli for offer in node.offers
    )


def _milli_by_node(problem: Problem) -> dict[str, int]:
    used: dict[str, int] = defaultdict(int)
    for job in problem.jobs:
        for assignment in job.running:
            for name in assignment.nodes:
                used[name] += _milli(job, assignment) // len(assignment.nodes)
    return used


def _domain(
    domain: PowerDomain, snapshot: Snapshot, problem: Problem, used: dict[str, int]
) -> PowerDomainStatus:
    name = domain.metadata.name
    base = next(d.base_milliwatts for d in problem.power_domains if d.name == name)
    nodes = [node for node in problem.nodes if name in node.power_domains]
    milliwatts = base + sum(used.get(n.name, 0) * n.busy_milliwatts // 1000 for n in nodes)
    expected, budget = -(-milliwatts // 1000), domain.spec.budget_watts
    within = expected <= budget
    reason = Reason.PLANNED if within else Reason.POWER_BUDGET
    message = f"{expected} W of {budget} W are expected to be drawn"
    return PowerDomainStatus(
        observed_generation=domain.metadata.generation,
        conditions=_with(domain, snapshot.now, "WithinBudget", reason, message, holds=within),
        nodes=len(nodes),
        budget_watts=budget,
        expected_watts=expected,
    )


def _policy(policy: PlacementPolicy, snapshot: Snapshot, plan: Plan) -> PlacementPolicyStatus:
    advise = policy.spec.mode == "Advise"
    message = "plans are published and nothing is touched" if advise else "plans are acted on"
    actions = [*plan.changes, *plan.holds][:MOST_ACTIONS] if advise else []
    summary = PlanSummary(
        time=plan.made.replace(microsecond=0),
        gap_percent=Decimal(str(round(plan.gap_percent, 2))),
        admitted=plan.admitted,
        held=len(plan.holds),
        actions=len(plan.changes),
    )
    return PlacementPolicyStatus(
        observed_generation=policy.metadata.generation,
        conditions=_with(policy, snapshot.now, "Planned", Reason.PLANNED, message),
        last_plan=summary,
        actions=tuple(_action(action) for action in actions),
    )


def _action(action: Change | Hold) -> PlannedAction:
    return PlannedAction(
        job=action.job,
        action=type(action).__name__,
        reason=action.reason,
        message=action.message[:1024],
    )


def _with(  # noqa: PLR0913 - the facts of one condition
    resource: ClusterResource,
    now: datetime,
    kind: str,
    reason: Reason,
    message: str,
    *,
    holds: bool = True,
) -> Conditions:
    news = Condition(
        type=kind,
        status="True" if holds else "False",
        reason=reason,
        message=message,
        last_transition_time=now.replace(microsecond=0),
        observed_generation=resource.metadata.generation,
    )
    return with_condition(resource.status.conditions, news)
