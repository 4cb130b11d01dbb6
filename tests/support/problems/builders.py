"""Problems and their parts with sensible defaults, so that a test states only what it is about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from plimsoll_placement.model import (
    NO_GPUS,
    Amounts,
    Assignment,
    Devices,
    DomainName,
    GpuType,
    Job,
    JobName,
    Node,
    NodeName,
    Placements,
    PowerDomain,
    Queue,
    QueueName,
    Role,
    RoleName,
    Shape,
    Weights,
)
from plimsoll_placement.problem import Problem

H100 = GpuType("NVIDIA-H100-80GB-HBM3")
A100 = GpuType("NVIDIA-A100-SXM4-80GB")
L4 = GpuType("NVIDIA-L4")
T4 = GpuType("Tesla-T4")
MIG_1G = GpuType("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb")

GIB = 1 << 30
ANY_NODE = -1
"""A mask with the bit of every node set."""


class NodeFields(TypedDict, total=False):
    """What a node can be given besides its name and devices."""

    cpu_millis: int
    memory_bytes: int
    pod_slots: int
    topology: tuple[str, ...]
    power_domains: tuple[DomainName, ...]
    pool: str
    spot: bool
    busy_milliwatts: int
    microdollars_per_gpu_hour: int
    interruptions_per_kilohour: int
    open: bool
    usable: bool
    gpu_memory_bytes: int
    gpu_memory_each_bytes: int
    returnable: bool
    others: Amounts


class JobFields(TypedDict, total=False):
    """What a job can be given besides its roles."""

    priority: int
    sequence: int
    urgency_milli: int
    required_level: int | None
    preferred_level: int | None
    crossing_percent: Mapping[GpuType, int]
    spot_percent: int
    running: tuple[Assignment, ...]
    pinned: bool
    restart_seconds: int
    checkpoint_seconds: int


def some_devices(
    count: int, gpu_type: GpuType = H100, *, share_milli: int = 1000, free_milli: int = 1000
) -> Devices:
    """Devices of one type, each with as much free."""
    return Devices(gpu_type, (free_milli,) * count, share_milli)


def a_node(
    name: str = "n0",
    *,
    gpus: int = 8,
    gpu_type: GpuType = H100,
    devices: tuple[Devices, ...] | None = None,
    **fields: Unpack[NodeFields],
) -> Node:
    """A node with whole GPUs of one type, or with the devices given, and room for their pods."""
    if devices is None:
        devices = (some_devices(gpus, gpu_type),)
    node = Node(NodeName(name), devices, cpu_millis=96_000, memory_bytes=512 * GIB, pod_slots=110)
    return replace(node, **fields)


def some_nodes(count: int, **fields: Unpack[NodeFields]) -> tuple[Node, ...]:
    """Nodes n0, n1, … that are alike, with 8 GPUs each."""
    return tuple(a_node(f"n{index}", **fields) for index in range(count))


def a_role(  # noqa: PLR0913  # one keyword for each thing that a test may be about
    name: str = "worker",
    *,
    counts: Sequence[int] = (1,),
    gpu_milli: int = 1000,
    cpu_millis: int = 0,
    memory_bytes: int = 0,
    others: Amounts = (),
    rates: Mapping[GpuType, int] | None = None,
    eligible: int = ANY_NODE,
    pods_per_replica: int = 1,
) -> Role:
    """A role of a gang; `rates` is the percent of what it asks for that it yields on each type."""
    asked = gpu_milli * pods_per_replica
    return Role(
        name=RoleName(name),
        shape=Shape(gpu_milli, cpu_millis, memory_bytes, others=others),
        counts=tuple(counts),
        yields={
            gpu_type: tuple(asked * count * percent // 100 for count in counts)
            for gpu_type, percent in (rates or {H100: 100}).items()
        },
        eligible=eligible,
        pods_per_replica=pods_per_replica,
    )


def a_mixable_role(
    name: str = "server",
    *,
    counts: Sequence[int] = (1, 2, 3, 4),
    wanted_milli: int = 4000,
    carried: Mapping[GpuType, int] | None = None,
    role: Role | None = None,
) -> Role:
    """A role of an inference job; `carried` is what one replica serves on each type."""
    plain = role if role is not None else a_role(name)
    return replace(
        plain,
        name=RoleName(name),
        counts=tuple(counts),
        yields={kind: (milli,) for kind, milli in (carried or {H100: 1000}).items()},
        mixable=True,
        wanted_milli=wanted_milli,
    )


def a_companion(  # noqa: PLR0913  # as `a_role`
    name: str = "launcher",
    *,
    counts: Sequence[int] = (1,),
    gpu_milli: int = 0,
    cpu_millis: int = 0,
    types: Iterable[GpuType] = (NO_GPUS,),
    eligible: int = ANY_NODE,
) -> Role:
    """A role of a gang that yields nothing, without GPUs if not told otherwise."""
    return a_role(
        name,
        counts=counts,
        gpu_milli=gpu_milli,
        cpu_millis=cpu_millis,
        rates=dict.fromkeys(types, 0),
        eligible=eligible,
    )


def a_training_job(
    name: str = "train",
    *,
    worker: Role | None = None,
    companions: Sequence[Role] = (),
    queue: str = "research",
    **fields: Unpack[JobFields],
) -> Job:
    """A gang of one role, a single worker with one GPU if not told otherwise."""
    roles = (worker if worker is not None else a_role(), *companions)
    job = Job(JobName(name), QueueName(queue), priority=0, roles=roles, restart_seconds=600)
    return replace(job, **fields)


def an_inference_job(
    name: str = "serve",
    *,
    roles: tuple[Role, ...] | None = None,
    queue: str = "research",
    **fields: Unpack[JobFields],
) -> Job:
    """Replicas that each stand for themselves, one to four with one GPU if not told otherwise."""
    roles = roles if roles is not None else (a_mixable_role(),)
    job = Job(JobName(name), QueueName(queue), 0, roles, gang=False, restart_seconds=60)
    return replace(job, **fields)


def a_queue(
    name: str = "research",
    *,
    parent: str | None = None,
    guaranteed: Mapping[GpuType, int] | None = None,
    limit: Mapping[GpuType, int] | None = None,
    fair: Mapping[GpuType, int] | None = None,
) -> Queue:
    """A queue without shares or limits, unless given."""
    above = None if parent is None else QueueName(parent)
    return Queue(QueueName(name), above, guaranteed or {}, limit or {}, fair or {})


def a_power_domain(name: str, *, budget_watts: int, base_watts: int = 0) -> PowerDomain:
    """A power domain, in whole watts."""
    return PowerDomain(DomainName(name), budget_watts * 1000, base_watts * 1000)


def a_problem(
    nodes: Iterable[Node],
    jobs: Iterable[Job],
    *,
    queues: Iterable[Queue] | None = None,
    power_domains: Iterable[PowerDomain] = (),
    levels: tuple[str, ...] = (),
) -> Problem:
    """A problem whose one queue is `research`, unless queues are given; masks are cut to nodes."""
    nodes = tuple(nodes)
    return Problem(
        nodes=nodes,
        jobs=tuple(_cut_to(len(nodes), job) for job in jobs),
        queues=tuple(queues) if queues is not None else (a_queue(),),
        power_domains=tuple(power_domains),
        levels=levels,
        weights=Weights(),
    )


def _cut_to(nodes: int, job: Job) -> Job:
    mask = (1 << nodes) - 1
    return replace(job, roles=tuple(replace(r, eligible=r.eligible & mask) for r in job.roles))


def on(*nodes: str, role: str = "worker", replica: int = 0, gpu_type: GpuType = H100) -> Assignment:
    """One replica with a pod on each of these nodes."""
    names = tuple(NodeName(node) for node in nodes)
    return Assignment(RoleName(role), replica, gpu_type, names)


def gang_on(*nodes: str, role: str = "worker", gpu_type: GpuType = H100) -> tuple[Assignment, ...]:
    """One-pod replicas 0, 1, … on these nodes."""
    return tuple(
        on(node, role=role, replica=index, gpu_type=gpu_type) for index, node in enumerate(nodes)
    )


def placed(**assignments: tuple[Assignment, ...]) -> Placements:
    """Placements by job name."""
    return {JobName(name): held for name, held in assignments.items()}
