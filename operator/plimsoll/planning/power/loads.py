"""The load on each node as far as power is concerned: GPUs in use, their draw, their job.

Of unmanaged pods only the number of GPUs is known: they count with the typical draw and priority 0.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from plimsoll.api.gpu_pool import GPUPower
from plimsoll.observe.snapshot import JobName, JobView, NodeView, PodView, Snapshot
from plimsoll.planning.cluster.power_model import draw_milli, powered, unmanaged_milli
from plimsoll.planning.power.capped import utilization_of
from plimsoll.planning.serving.size_groups import whole_role
from plimsoll_placement.estimate.capping.domain import Server
from plimsoll_placement.estimate.capping.throughput import EXPONENTS
from plimsoll_placement.model import WHOLE_GPU_MILLI, DomainName, Job
from plimsoll_placement.problem import Problem

UNMANAGED_PRIORITY: Final = 0
MIXED: Final = EXPONENTS["Mixed"]


@dataclass(frozen=True, slots=True)
class Use:
    """What one job takes of a node: milli-GPUs, also converted to typical use by their draw.

    `draw_milli` is without caps, `planned_milli` with those that the plan counts on.
    """

    job: str
    role: str
    priority: int
    gpu_milli: int
    draw_milli: int
    planned_milli: int


Uses = Mapping[str, tuple[Use, ...]]


def uses_of(problem: Problem) -> Uses:
    """What runs on each node, by its name."""
    found: dict[str, list[Use]] = defaultdict(list)
    for job in problem.jobs:
        for name, use in _uses(job):
            found[name].append(use)
    return {name: tuple(uses) for name, uses in found.items()}


def _uses(job: Job) -> Iterator[tuple[str, Use]]:
    roles = {role.name: role for role in job.roles}
    for assignment in job.running:
        role = roles.get(assignment.role)
        if role is None:
            continue
        milli = (role.shape.gpu_milli, role.full_draw_milli, role.shape.draw_milli)
        for name in assignment.nodes:
            yield name, Use(job.whole_name, role.name, job.priority, *milli)


def uses_until_gone(uses: Uses, problem: Problem, snapshot: Snapshot) -> Uses:
    """What runs on each node, including pods that have lost their place: they draw until gone."""
    planned: Counter[tuple[str, str, str]] = Counter()
    for job in problem.jobs:
        for assignment in job.running:
            role, _ = whole_role(assignment.role)
            planned.update((job.whole_name, role, node) for node in assignment.nodes)
    left: dict[str, list[Use]] = defaultdict(list)
    for view in snapshot.present:
        for pod in view.pods:
            node, who = snapshot.node_by_name.get(pod.node), (view.name, pod.role, pod.node)
            if node is None or pod.is_over:
                continue
            planned[who] -= 1
            if planned[who] < 0:
                left[node.name].append(_leaving(view, pod, node))
    return {**uses, **{name: (*uses.get(name, ()), *more) for name, more in left.items()}}


def _leaving(view: JobView, pod: PodView, node: NodeView) -> Use:
    requested = pod.requests.others
    gpu_milli = sum(requested.get(each.resource, 0) * each.share_milli for each in node.offers)
    draws = draw_milli(gpu_milli, utilization_of(view, pod.role))
    return Use(view.name, pod.role, view.priority or 0, gpu_milli, draws, 0)


def counted_milliwatts(problem: Problem, uses: Uses) -> Mapping[DomainName, int]:
    """The counted draw of each domain from what runs, without caps, with the reserve."""
    return _milliwatts(problem, uses, lambda use: use.draw_milli)


def planned_milliwatts(problem: Problem, uses: Uses) -> Mapping[DomainName, int]:
    """The same with the caps that plans count on."""
    return _milliwatts(problem, uses, lambda use: use.planned_milli)


def _milliwatts(
    problem: Problem, uses: Uses, milli: Callable[[Use], int]
) -> Mapping[DomainName, int]:
    found = {domain.name: domain.base_milliwatts for domain in problem.power_domains}
    for node in problem.nodes:
        here, busy = uses.get(node.name, ()), node.busy_milliwatts
        watts = sum(-(-milli(use) * busy // WHOLE_GPU_MILLI) for use in here)
        for name in node.power_domains:
            found[name] += watts
    return found


def servers_of(snapshot: Snapshot, nodes: Iterable[NodeView], uses: Uses) -> list[Server]:
    """The nodes as servers that can be capped, omitting those whose draw is unknown.

    A server's cap and its measured draw come from the snapshot's reading. One that does not keep
    its cap counts as not cappable.
    """
    return [
        _server(node, power, uses.get(node.name, ()), snapshot)
        for node, power in powered(nodes, snapshot)
    ]


def _server(node: NodeView, power: GPUPower, uses: tuple[Use, ...], snapshot: Snapshot) -> Server:
    unmanaged = unmanaged_milli(node)
    busy = unmanaged + sum(use.gpu_milli for use in uses)
    count = sum(offer.count for offer in node.offers)
    gpus = min(count, -(-busy // WHOLE_GPU_MILLI))
    above_idle = power.typical_watts - power.idle_watts
    draw = (
        (unmanaged + sum(use.draw_milli for use in uses))
        * above_idle
        // max(gpus * WHOLE_GPU_MILLI, 1)
    )
    measured = snapshot.power.nodes.get(node.name) if snapshot.power else None
    idle = (count - gpus) * power.idle_watts
    ranks = [*(use.priority for use in uses), *([UNMANAGED_PRIORITY] if unmanaged else [])]
    exponents = [*(_exponent(use, snapshot) for use in uses), *([MIXED] if unmanaged else [])]
    return Server(
        name=node.name,
        rank=max(ranks, default=UNMANAGED_PRIORITY),
        gpus=gpus,
        idle_watts=power.idle_watts,
        draw_watts=power.idle_watts + draw,
        min_cap_watts=power.min_cap_watts if node.limits.is_kept(snapshot.now) else None,
        limit_watts=power.limit_watts,
        exponent=max(exponents, default=MIXED),
        cap_watts=cap_in_force(node, power, snapshot.now),
        measured_watts=None if measured is None else max(0, round(measured) - idle),
    )


def _exponent(use: Use, snapshot: Snapshot) -> float:
    """The exponent of throughput under a cap, by the job's use of its GPUs."""
    view = snapshot.job_by_name.get(JobName(use.job))
    return MIXED if view is None else EXPONENTS[utilization_of(view, use.role)]


def cap_in_force(node: NodeView, power: GPUPower, now: datetime) -> int | None:
    """The limit in force on a node's GPUs, None for their default.

    While no agent has reported it, the wanted limit is assumed for a while.
    """
    limits = node.limits
    if limits.is_applied or not limits.reported:
        return limits.wanted if limits.is_kept(now) else None
    highest = max(limits.reported)
    return highest if highest < power.limit_watts else None
