"""Small clusters and random arrivals for packing pods one by one."""

from collections.abc import Sequence
from random import Random

from plimsoll_placement.model import GpuType, NodeName
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Host

T4, G2 = GpuType("T4"), GpuType("G2")


def a_host(name: str, gpus: int = 2, *, model: GpuType = G2, cores: int = 64) -> Host:
    return Host(NodeName(name), model, cores * 1000, 1 << 18, gpus)


def a_cluster(*hosts: Host) -> Cluster:
    return Cluster(hosts or (a_host("only"),))


def a_pod(
    gpu_milli: int = 1000, *, gpus: int = 1, cores: int = 1, models: Sequence[GpuType] = ()
) -> PodKind:
    return PodKind(cores * 1000, 1024, gpus, gpu_milli, frozenset(models))


CPU_ONLY = PodKind(4000, 1024)


def some_hosts(random: Random) -> list[Host]:
    return [
        a_host(
            f"node-{number}",
            random.choice((1, 2, 4, 8)),
            model=random.choice((T4, G2)),
            cores=random.choice((8, 32, 64, 96)),
        )
        for number in range(random.randint(1, 12))
    ]


def some_pods(random: Random, count: int) -> list[PodKind]:
    kinds = [_some_pod(random) for _ in range(12)]
    return random.choices(kinds, k=count)


def _some_pod(random: Random) -> PodKind:
    models = random.choice(((), (), (T4,), (G2,), (T4, G2)))
    gpus = random.choice((0, 1, 1, 1, 1, 2, 4))
    if not gpus:
        return PodKind(random.choice((1000, 8000, 32000)), 4096)
    milli = random.choice((160, 320, 470, 810, 1000)) if gpus == 1 else 1000
    return a_pod(milli, gpus=gpus, cores=random.choice((1, 3, 8, 11)), models=models)
