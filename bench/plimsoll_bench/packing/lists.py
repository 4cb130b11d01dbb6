"""Lists of nodes and pods as CSV files, optionally gzipped, and arrivals drawn from them.

Columns of nodes: sn, cpu_milli, memory_mib, gpu, model. Of pods: name, cpu_milli, memory_mib,
num_gpu, gpu_milli and, if any pod is bound to GPU types, gpu_spec ("T4|P100"; empty: any). Of
recorded arrivals: base_pod, the name of a pod. Of a recorded order of nodes: node, first the one
that is taken when several are equally good.
"""

import csv
import gzip
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType, NodeName
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Host

DEMAND_PERCENT = 130


def hosts_in(path: Path) -> tuple[Host, ...]:
    """The nodes of a list."""
    return tuple(
        Host(
            NodeName(row["sn"]),
            GpuType(row["model"]),
            int(row["cpu_milli"]),
            int(row["memory_mib"]),
            int(row["gpu"]),
        )
        for row in _rows(path)
    )


def pods_in(path: Path) -> dict[str, PodKind]:
    """The pods of a list by name; like pods are one object."""
    kinds: dict[PodKind, PodKind] = {}
    pods = {row["name"]: _pod(row) for row in _rows(path)}
    return {name: kinds.setdefault(pod, pod) for name, pod in pods.items()}


def recorded_arrivals(path: Path, pods: Mapping[str, PodKind]) -> tuple[PodKind, ...]:
    """The pods in the recorded order."""
    return tuple(pods[row["base_pod"]] for row in _rows(path))


def in_recorded_order(path: Path, hosts: Sequence[Host]) -> tuple[Host, ...]:
    """The nodes in the recorded order."""
    by_name = {host.name: host for host in hosts}
    return tuple(by_name[NodeName(row["node"])] for row in _rows(path))


def drawn_arrivals(pods: Sequence[PodKind], capacity_gpus: int, random: Random) -> list[PodKind]:
    """All pods shuffled, then more drawn (or some left out) until 130 % is asked for."""
    wanted = DEMAND_PERCENT * capacity_gpus * WHOLE_GPU_MILLI // 100
    arrivals = random.sample(pods, len(pods))
    asked = sum(pod.total_gpu_milli for pod in arrivals)
    while asked > wanted:
        asked -= arrivals.pop(random.randrange(len(arrivals))).total_gpu_milli
    while asked < wanted:
        arrivals.append(random.choice(pods))
        asked += arrivals[-1].total_gpu_milli
    return arrivals


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        yield from csv.DictReader(file)


def _pod(row: Mapping[str, str]) -> PodKind:
    models = row.get("gpu_spec", "")
    return PodKind(
        int(row["cpu_milli"]),
        int(row["memory_mib"]),
        int(row["num_gpu"]),
        int(row["gpu_milli"]),
        frozenset(GpuType(model) for model in models.split("|") if model),
    )
