"""Small clusters in which jobs wait, for every possible reason; the same for the same seed.

Nodes of up to three GPU types with unmanaged pods on them, parts of devices, little CPU, spot,
closed and lost nodes, racks, power domains, a tree of queues; gangs and services that ask for more
than there is.
"""

from collections.abc import Iterator
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
H100, A100, L4 = (GpuType(f"NVIDIA-{name}") for name in ("H100-80GB-HBM3", "A100-SXM4-80GB", "L4"))
MODELS = ((H100, 8, 1000), (A100, 4, 1000), (L4, 4, 250), (L4, 2, 1))
"""GPU types, with how many a node has and in which shares they are handed out."""
DOMAINS = tuple(DomainName(f"row-{row}") for row in range(2))
QUEUES = tuple(map(QueueName, ("all", "vision", "language")))
LEVELS = ("block", "rack")


def crowded(rng: Random) -> Problem:
    """A cluster of 4 to 10 nodes with more jobs than it has room for; each rule in some of them."""
    nodes = rng.randint(4, 10)
    rare = {name: rng.random() < 1 / 2 for name in ("power", "limits", "cpu", "closed", "racks")}
    return Problem(
        nodes=tuple(_node(rng, index, rare) for index in range(nodes)),
        jobs=tuple(
            _job(rng, index, nodes, racks=rare["racks"]) for index in range(rng.randint(4, 14))
        ),
        queues=tuple(_queues(rng, limits=rare["limits"])),
        power_domains=tuple(
            PowerDomain(name, rng.choice((3, 6, 9)) * 10**6, 500_000)
            for name in (DOMAINS if rare["power"] else ())
        ),
        levels=LEVELS,
    )


def _node(rng: Random, index: int, rare: dict[str, bool]) -> Node:
    # Racks are of interest only if several nodes of a rack have the same GPUs.
    kind, count, share = rng.choice(MODELS[: 1 if rare["racks"] else len(MODELS)])
    free = (1000, 1000, 1000, 0) if share == 1000 else (1000, 1000, 500, 0)  # noqa: PLR2004 - a whole
    small = rare["cpu"] and rng.random() < 1 / 2
    return Node(
        name=NodeName(f"node-{index}"),
        devices=(Devices(kind, tuple(rng.choice(free) for _ in range(count)), share),),
        cpu_millis=8000 if small else 96_000,
        memory_bytes=(32 if small else 512) * GIB,
        pod_slots=4 if small else 110,
        topology=(f"block-{index // 4}", f"rack-{index // 2}"),
        power_domains=(DOMAINS[index % 2],),
        spot=rng.random() < 1 / 6,
        busy_milliwatts=rng.choice((600_000, 350_000)),
        open=not (rare["closed"] and rng.random() < 1 / 3),
        usable=rng.random() > 1 / 20,
    )


def _queues(rng: Random, *, limits: bool) -> Iterator[Queue]:
    for name in QUEUES:
        parent = None if name == QUEUES[0] else QUEUES[0]
        limit = {kind: 1000 * rng.randint(2, 12) for kind in (H100, A100, L4)} if limits else {}
        yield Queue(name, parent, limit=limit)


def _job(rng: Random, index: int, nodes: int, *, racks: bool) -> Job:
    gang = rng.random() < 2 / 3
    names = ("worker",) if gang else ("prefill", "decode")[: rng.randint(1, 2)]
    everywhere = (1 << nodes) - 1
    mask = rng.getrandbits(nodes) if rng.random() < 1 / 6 else everywhere
    return Job(
        name=JobName(f"job-{index}"),
        queue=rng.choice(QUEUES),
        priority=rng.choice((0, 0, 100, 1000)),
        roles=tuple(_role(rng, name, mask, gang=gang) for name in names),
        gang=gang,
        sequence=index,
        spot_percent=rng.choice((0, 0, 50, 100)),
        required_level=rng.choice((None, 0, 1, 1)) if racks else None,
        restart_seconds=rng.randint(60, 1800),
    )


def _role(rng: Random, name: str, mask: int, *, gang: bool) -> Role:
    milli = rng.choice((250, 500, 1000, 1000, 2000, 4000, 8000))
    least = rng.choice((1, 1, 2, 3, 4, 8))
    counts = tuple(range(least, least + rng.randint(1, 3)))
    types = rng.sample((H100, A100, L4), rng.randint(1, 2))
    pods = rng.choice((1, 1, 1, 2))
    sizes = counts if gang else (1,)
    return Role(
        name=RoleName(name),
        shape=Shape(milli, rng.choice((1000, 4000)), rng.choice((4, 16)) * GIB),
        counts=counts,
        yields={kind: tuple(milli * pods * size for size in sizes) for kind in types},
        eligible=mask,
        pods_per_replica=pods,
        mixable=not gang,
        wanted_milli=0 if gang else milli * pods * counts[-1],
    )
