"""A large mixed cluster with its jobs, drawn from a seed, for the benchmarks of plans.

Five GPU types, three queues, power domains of up to 200 nodes, racks of 32 nodes in blocks of 512.
Training jobs ask for 1 to 512 GPUs, 3 of 10 jobs are elastic, 2 of 10 are inference; together they
ask for `load` times the available GPUs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from plimsoll_placement.model import (
    Devices,
    DomainName,
    GpuType,
    Job,
    JobName,
    Node,
    NodeName,
    PowerDomain,
    Queue,
    QueueName,
    Role,
    RoleName,
    Shape,
)
from plimsoll_placement.problem import Problem

GIB = 1 << 30
RACK, BLOCK = 32, 512
QUEUES = (QueueName("research"), QueueName("product"), QueueName("batch"))
PRIORITIES = (0, 0, 0, 100, 100, 1000)
ELASTIC, INFERENCE = 0.3, 0.2
BOUND_TO_BLOCK, LIKES_RACK = 0.1, 0.3
SPOT_EVERY = 5
POWER_PERCENT = 92
"""The budget of a power domain, as a share of the draw of all its GPUs."""


@dataclass(frozen=True, slots=True)
class Model:
    """A GPU model: price, power of one in use, and its speed relative to the fastest."""

    name: GpuType
    microdollars: int
    milliwatts: int
    percent: int


MODELS = (
    Model(GpuType("NVIDIA-B200"), 10_000_000, 900_000, 200),
    Model(GpuType("NVIDIA-H100-80GB-HBM3"), 8_000_000, 600_000, 100),
    Model(GpuType("NVIDIA-A100-SXM4-80GB"), 4_000_000, 350_000, 50),
    Model(GpuType("NVIDIA-L40S"), 1_800_000, 300_000, 35),
    Model(GpuType("NVIDIA-L4"), 800_000, 70_000, 15),
)
FAST = MODELS[:3]


@dataclass(frozen=True, slots=True)
class Size:
    """How large a cluster is and how much is asked of it."""

    nodes: int
    gpus_per_node: int
    jobs: int
    power_domains: int = 50
    load: float = 1.2


def mixed_cluster(seed: int, size: Size) -> Problem:
    """The cluster with nothing running yet."""
    rng = Random(seed)
    nodes = tuple(_node(index, size) for index in range(size.nodes))
    return Problem(
        nodes=nodes,
        jobs=tuple(_jobs(rng, size, nodes)),
        queues=_queues(nodes),
        power_domains=tuple(_power_domains(nodes)),
        levels=("block", "rack"),
    )


def new_job(rng: Random, name: str, size: Size, sequence: int) -> Job:
    """One job of the mix, of a mean size that suits `load`."""
    gpus = _gpus(rng, size.load * size.nodes * size.gpus_per_node / max(size.jobs, 1))
    everywhere = (1 << size.nodes) - 1
    if rng.random() < INFERENCE:
        job = _service(rng, name, min(gpus, 64), everywhere)
    else:
        job = _gang(rng, name, gpus, size.gpus_per_node, everywhere)
    return replace(
        job, queue=rng.choice(QUEUES), priority=rng.choice(PRIORITIES), sequence=sequence
    )


def _jobs(rng: Random, size: Size, nodes: tuple[Node, ...]) -> Iterator[Job]:
    asked, wanted = 0, size.load * len(nodes) * size.gpus_per_node
    for index in range(size.jobs):
        left = size.jobs - index
        mean = max(1.0, (wanted - asked) / left)
        job = new_job(rng, f"job-{index:05}", replace(size, load=_load(mean, size)), index)
        asked += max(r.counts[0] * r.pods_per_replica * r.shape.gpu_milli for r in job.roles) / 1000
        yield job


def _load(mean_gpus: float, size: Size) -> float:
    return mean_gpus * size.jobs / (size.nodes * size.gpus_per_node)


def _gpus(rng: Random, mean: float) -> int:
    """A power of two from 1 to 512; small ones are common, the mean is about `mean`."""
    sizes = [1 << power for power in range(10)]
    steepness = _steepness(mean, sizes)
    return rng.choices(sizes, [size**-steepness for size in sizes])[0]


def _steepness(mean: float, sizes: list[int]) -> float:
    """By bisection, the exponent of the power law that has this mean."""
    low, high = -1.0, 3.0
    for _ in range(30):
        at = (low + high) / 2
        weights = [size**-at for size in sizes]
        here = sum(w * s for w, s in zip(weights, sizes, strict=True)) / sum(weights)
        low, high = (at, high) if here > mean else (low, at)
    return low


def _node(index: int, size: Size) -> Node:
    rack, block = index // RACK, index // BLOCK
    model = MODELS[rack % len(MODELS)]
    spot = rack // len(MODELS) % SPOT_EVERY == SPOT_EVERY - 1
    per_domain = max(1, -(-size.nodes // size.power_domains))
    return Node(
        name=NodeName(f"node-{index:05}"),
        devices=(Devices(model.name, (1000,) * size.gpus_per_node),),
        cpu_millis=size.gpus_per_node * 12_000,
        memory_bytes=size.gpus_per_node * 128 * GIB,
        pod_slots=110,
        topology=(f"block-{block}", f"rack-{rack}"),
        power_domains=(DomainName(f"row-{index // per_domain}"),),
        spot=spot,
        busy_milliwatts=model.milliwatts,
        microdollars_per_gpu_hour=model.microdollars // (3 if spot else 1),
        interruptions_per_kilohour=20 if spot else 0,
    )


def _power_domains(nodes: tuple[Node, ...]) -> Iterator[PowerDomain]:
    full: dict[DomainName, int] = {}
    for node in nodes:
        draw = len(node.devices[0].free_milli) * node.busy_milliwatts
        full[node.power_domains[0]] = full.get(node.power_domains[0], 0) + draw
    for name, milliwatts in full.items():
        yield PowerDomain(name, milliwatts * POWER_PERCENT // 100)


def _queues(nodes: tuple[Node, ...]) -> tuple[Queue, ...]:
    supply: dict[GpuType, int] = {}
    for node in nodes:
        for devices in node.devices:
            milli = supply.get(devices.gpu_type, 0) + sum(devices.free_milli)
            supply[devices.gpu_type] = milli
    research, product, batch = QUEUES
    return (
        Queue(research, guaranteed=_part(supply, 20), fair=_part(supply, 40)),
        Queue(product, guaranteed=_part(supply, 30), fair=_part(supply, 40)),
        Queue(batch, limit=_part(supply, 50), fair=_part(supply, 20)),
    )


def _part(supply: dict[GpuType, int], percent: int) -> dict[GpuType, int]:
    return {gpu_type: milli * percent // 100 for gpu_type, milli in supply.items()}


def _gang(rng: Random, name: str, gpus: int, per_node: int, everywhere: int) -> Job:
    per_pod = min(gpus, per_node)
    least = gpus // per_pod
    counts = tuple(least * step for step in (1, 2, 3, 4)) if _is_elastic(rng) else (least,)
    models = rng.sample(FAST if gpus > per_node else MODELS, rng.choice((1, 2, 2, 3)))
    role = Role(
        RoleName("worker"),
        Shape(1000 * per_pod, 8000 * per_pod, 64 * GIB * per_pod),
        counts,
        {model.name: tuple(_yields(model, n, least, per_pod) for n in counts) for model in models},
        everywhere,
    )
    alone = least == 1 and len(counts) == 1
    return Job(
        JobName(name),
        QUEUES[0],
        0,
        (role,),
        required_level=0 if not alone and rng.random() < BOUND_TO_BLOCK else None,
        preferred_level=1 if not alone and rng.random() < LIKES_RACK else None,
        spot_percent=rng.choice((0, 0, 100)),
        restart_seconds=rng.choice((60, 300, 900)),
        checkpoint_seconds=300,
    )


def _is_elastic(rng: Random) -> bool:
    return rng.random() < ELASTIC / (1 - INFERENCE)


def _yields(model: Model, count: int, least: int, per_pod: int) -> int:
    """Useful milli-GPUs: each doubling beyond the least loses some of its speed."""
    return int(10 * per_pod * count * model.percent / (1 + 0.08 * (count / least - 1)) / 2)


def _service(rng: Random, name: str, gpus: int, everywhere: int) -> Job:
    per_pod = rng.choice((1, 1, 2, 4))
    most = max(1, gpus // per_pod)
    models = rng.sample(MODELS, rng.choice((1, 2, 3)))
    role = Role(
        RoleName("server"),
        Shape(1000 * per_pod, 6000 * per_pod, 32 * GIB * per_pod),
        tuple(range(max(1, most // 2), most + 1)),
        {model.name: (5 * per_pod * model.percent,) for model in models},
        everywhere,
        mixable=True,
        wanted_milli=5 * per_pod * most * min(model.percent for model in models),
    )
    return Job(
        JobName(name),
        QUEUES[0],
        0,
        (role,),
        gang=False,
        restart_seconds=60,
        spot_percent=rng.choice((0, 50)),
    )
