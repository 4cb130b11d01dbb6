"""Clusters drawn from a random source: nodes, queues and power domains."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from plimsoll_placement.model import (
    Devices,
    DomainName,
    GpuType,
    Node,
    PowerDomain,
    Queue,
    QueueName,
    Weights,
)
from support.problems.builders import A100, GIB, H100, L4, MIG_1G, T4, a_node, some_devices

GPU_TYPES = (H100, A100, L4, T4, MIG_1G)

HARDWARE: tuple[tuple[Devices, ...], ...] = (
    (some_devices(4, H100),),
    (some_devices(4, A100),),
    (some_devices(2, L4, share_milli=1),),
    (some_devices(2, T4, share_milli=250),),
    (some_devices(1, T4, share_milli=500),),
    (some_devices(2, A100), some_devices(3, MIG_1G)),
    (some_devices(1, L4), some_devices(1, L4, share_milli=500)),
    (some_devices(8, H100),),
)


@dataclass(frozen=True, slots=True)
class Mix:
    """Which constraints are in play; a problem with all of them at once has few placements."""

    hardware: tuple[tuple[Devices, ...], ...]
    foreign_pods: bool
    scarce_cpu: bool
    spot: bool
    selectors: bool
    topology: bool
    limits: bool
    power: bool
    prices: bool

    @property
    def gpu_types(self) -> tuple[GpuType, ...]:
        """What the hardware offers."""
        return tuple(sorted({each.gpu_type for group in self.hardware for each in group}))


def chance(rng: Random, percent: int) -> bool:
    """True that often; False is what hypothesis shrinks to."""
    return rng.randrange(100) >= 100 - percent


def drawn_mix(rng: Random) -> Mix:
    """One to three kinds of hardware, and each constraint in every third problem."""
    return Mix(
        hardware=tuple(rng.choice(HARDWARE) for _ in range(rng.randint(1, 3))),
        foreign_pods=chance(rng, 35),
        scarce_cpu=chance(rng, 35),
        spot=chance(rng, 35),
        selectors=chance(rng, 35),
        topology=chance(rng, 35),
        limits=chance(rng, 35),
        power=chance(rng, 35),
        prices=chance(rng, 50),
    )


def drawn_weights(rng: Random) -> Weights:
    """The defaults mostly, else extremes."""
    if not chance(rng, 30):
        return Weights()
    return Weights(
        horizon_seconds=rng.choice((3600, 60, 86_400)),
        gpu_seconds_per_dollar=rng.choice((100, 0, 10_000)),
        topology_percent=rng.choice((10, 0, 50)),
    )


def power_domains(rng: Random, mix: Mix) -> Iterator[PowerDomain]:
    """Up to two."""
    for index in range(rng.randint(1, 2) if mix.power else 0):
        budget = rng.choice((4_000_000, 2_000_001, 1_300_000))
        yield PowerDomain(DomainName(f"domain-{index}"), budget, rng.choice((0, 200_000)))


def queues(rng: Random, mix: Mix) -> Iterator[Queue]:
    """A tree of up to four."""
    for index in range(rng.randint(1, 4)):
        above = rng.randint(0, index)
        yield Queue(
            name=QueueName(f"queue-{index}"),
            parent=QueueName(f"queue-{above - 1}") if above else None,
            guaranteed=milli_by_type(rng, 40),
            limit=milli_by_type(rng, 40) if mix.limits else {},
            fair=milli_by_type(rng, 30),
        )


def milli_by_type(rng: Random, percent: int) -> Mapping[GpuType, int]:
    """Milli-GPUs of some types, that often; else none."""
    if not chance(rng, percent):
        return {}
    types = rng.sample(GPU_TYPES, rng.randint(1, len(GPU_TYPES)))
    return {gpu_type: rng.choice((8000, 4000, 2000, 1500, 1000, 0)) for gpu_type in types}


def drawn_node(rng: Random, mix: Mix, index: int, domains: Sequence[PowerDomain]) -> Node:
    """A node of one of the mix's kinds of hardware, open and usable."""
    devices = rng.choice(mix.hardware)
    small = mix.scarce_cpu and chance(rng, 50)
    return a_node(
        f"node-{index}",
        devices=tuple(partly_taken(rng, d) for d in devices) if mix.foreign_pods else devices,
        cpu_millis=6000 if small else 96_000,
        memory_bytes=20 * GIB if small else 512 * GIB,
        pod_slots=rng.choice((110, 3, 2)) if small else 110,
        topology=(_label(rng, "zone"), _label(rng, "rack")),
        power_domains=tuple(d.name for d in domains if not chance(rng, 30)),
        spot=mix.spot and chance(rng, 50),
        busy_milliwatts=rng.choice((400_000, 0, 333_333, 650_000)),
        microdollars_per_gpu_hour=rng.choice((2_000_000, 0, 700_001)) if mix.prices else 0,
        interruptions_per_kilohour=rng.choice((0, 0, 20, 500)) if mix.prices else 0,
    )


def _label(rng: Random, level: str) -> str:
    return rng.choice((f"{level}-0", f"{level}-1", ""))


def partly_taken(rng: Random, devices: Devices) -> Devices:
    """The devices with foreign pods on some of them, now and then."""
    if not chance(rng, 40):
        return devices
    left = (1000, 0) if devices.share_milli == 1000 else (1000, 750, 600, 500, 0)
    return replace(devices, free_milli=tuple(rng.choice(left) for _ in devices.free_milli))
