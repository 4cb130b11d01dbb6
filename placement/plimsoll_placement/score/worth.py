"""What one job's assignments serve, cost and are worth, and what a stop of it throws away.

Costs are rounded down one pod at a time, so that the models can add the same coefficients.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from plimsoll_placement.model import (
    WHOLE_GPU_MILLI,
    Assignment,
    Assignments,
    GpuType,
    Job,
    Node,
    NodeName,
    Role,
)
from plimsoll_placement.problem import Problem

WHOLE_PERCENT = 100
SECONDS_PER_HOUR = 3600
MICRODOLLARS_PER_DOLLAR = 1_000_000
MILLIJOULES_PER_KILOWATT_HOUR = 3_600_000_000


def pod_price(problem: Problem, job: Job, role: Role, node: Node) -> int:
    """Milli-GPU-seconds that one pod of a role costs on a node over the horizon.

    Money, energy, and on nodes that may be interrupted the expected loss of work: interrupting one
    pod costs its gang at least the time since the last checkpoint.
    """
    weights, milli = problem.weights, role.shape.gpu_milli
    horizon, draw_milli = weights.horizon_seconds, role.shape.draw_milli
    microdollars = milli * node.microdollars_per_gpu_hour * horizon // SECONDS_PER_HOUR
    millijoules = draw_milli * node.busy_milliwatts * horizon // WHOLE_GPU_MILLI
    _, _, gang_milli, lost_seconds = price_key(job, role)
    return (
        microdollars * weights.gpu_seconds_per_dollar // MICRODOLLARS_PER_DOLLAR
        + millijoules
        * weights.gpu_seconds_per_kilowatt_hour
        * WHOLE_GPU_MILLI
        // MILLIJOULES_PER_KILOWATT_HOUR
        + node.interruptions_per_kilohour
        * gang_milli
        * lost_seconds
        * horizon
        // (1000 * SECONDS_PER_HOUR)
    )


def price_key(job: Job, role: Role) -> tuple[int, int, int, int]:
    """What a job's price depends on.

    Milli-GPUs of a pod, its draw, milli-GPUs of its gang, seconds at stake.
    """
    milli, seconds = role.shape.gpu_milli, job.restart_seconds + job.checkpoint_seconds
    if job.companions:
        lost = least_milli(job)
    else:
        lost = milli * role.pods_per_replica * (max(role.least, 1) if job.gang else 1)
    return milli, role.shape.draw_milli, lost, seconds


def price_class(node: Node) -> tuple[int, int, int]:
    """What a node's price depends on."""
    return (
        node.microdollars_per_gpu_hour,
        node.busy_milliwatts,
        node.interruptions_per_kilohour,
    )


def held_milli(job: Job, assignments: Iterable[Assignment]) -> int:
    """The milli-GPUs that assignments of a job ask for; 0 for a role that it no longer has."""
    if len(job.roles) == 1:
        role = job.roles[0]
        return role.shape.gpu_milli * sum(len(a.nodes) for a in assignments if a.role == role.name)
    requested = {role.name: role.shape.gpu_milli for role in job.roles}
    return sum(requested.get(a.role, 0) * len(a.nodes) for a in assignments)


def least_milli(job: Job) -> int:
    """The milli-GPUs of a job at its least size."""
    return sum(role.least_gpu_milli for role in job.roles)


def served_milli(job: Job, assignments: Iterable[Assignment]) -> int:
    """Useful milli-GPUs of assignments: by count for a gang, otherwise up to what is wanted."""
    if len(job.roles) == 1:
        return _role_served(job.roles[0], _replicas_of(job.roles[0], assignments))
    replicas: dict[tuple[str, GpuType], int] = defaultdict(int)
    for assignment in assignments:
        replicas[assignment.role, assignment.gpu_type] += 1
    total = 0
    for role in job.roles:
        mine = {kind: n for (name, kind), n in replicas.items() if name == role.name}
        total += _role_served(role, mine)
    return total


def _replicas_of(role: Role, assignments: Iterable[Assignment]) -> Mapping[GpuType, int]:
    kinds = [each.gpu_type for each in assignments if each.role == role.name]
    if len(set(kinds)) == 1:
        return {kinds[0]: len(kinds)}
    return Counter(kinds)


def _role_served(role: Role, replicas: Mapping[GpuType, int]) -> int:
    if role.mixable:
        carried = sum(role.carries(kind) * n for kind, n in replicas.items())
        return role.served(carried, sum(replicas.values()))
    for kind, count in replicas.items():
        if kind in role.yields and count in role.counts:
            return role.yields[kind][role.counts.index(count)]
    return 0


def kept_and_admitted(job: Job, placed: Assignments) -> tuple[int, int]:
    """What placements keep running of a job and what they newly admit, in milli-GPUs."""
    if not placed:
        return 0, 0
    if job.gang:
        least = least_milli(job)
        return (least, 0) if job.is_running else (0, least * job.urgency_milli // 1000)
    served = served_milli(job, placed)
    kept = min(served, served_milli(job, job.running)) if job.is_running else 0
    return kept, (served - kept) * job.urgency_milli // 1000


def stop_loss(job: Job, placed: Assignments) -> int:
    """Milli-GPU-seconds counted for stops: all of a gang that changes, each replica removed."""
    if not job.running or placed is job.running:
        return 0
    if not placed:
        return job.stop_seconds * held_milli(job, job.running)
    stay = set(placed)
    if job.gang:
        same = len(placed) == len(job.running) and all(a in stay for a in job.running)
        return 0 if same else job.stop_seconds * held_milli(job, job.running)
    return job.stop_seconds * held_milli(job, (a for a in job.running if a not in stay))


def lost_work(job: Job, placed: Assignments) -> int:
    """Milli-GPU-seconds of work that stops throw away, however soon the job will be done."""
    return stop_loss(replace(job, payback_seconds=None), placed)


def crosses(problem: Problem, job: Job, nodes: Iterable[NodeName]) -> bool:
    """Whether nodes lie in more than one domain of the level that the job prefers."""
    level = job.preferred_level
    if level is None:
        return False
    domains = {domain_of(problem, name, level) for name in nodes}
    return len(domains) > 1


def crossing_percent(problem: Problem, job: Job, gpu_type: GpuType) -> int:
    """What a gang loses of its yield on a type when it spans domains of the preferred level."""
    return job.crossing_percent.get(gpu_type, problem.weights.topology_percent)


def domain_of(problem: Problem, name: NodeName, level: int) -> tuple[str, str]:
    """The node's domain at a level; a node without that label is a domain of its own."""
    domain = problem.nodes[problem.node_index[name]].topology[level]
    return ("domain", domain) if domain else ("node", name)


def worth(problem: Problem, job: Job, placed: Assignments, weight: int) -> int:
    """One job's share of the last level, in weighted milli-GPU-seconds over the horizon."""
    if not placed:
        return -stop_loss(job, placed)
    useful = served_milli(job, placed) * problem.weights.horizon_seconds
    index = problem.node_index
    pods = [(a.role, name) for a in placed for name in a.nodes if name in index]
    if job.gang and crosses(problem, job, (n for role, n in pods if role == job.roles[0].name)):
        lost_percent = crossing_percent(problem, job, placed[0].gpu_type)
        useful = useful * (WHOLE_PERCENT - lost_percent) // WHOLE_PERCENT
    price = sum(
        pod_price(problem, job, job.role(role), problem.nodes[index[name]]) for role, name in pods
    )
    return weight * useful - price - stop_loss(job, placed)
