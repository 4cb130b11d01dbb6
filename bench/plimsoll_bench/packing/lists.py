"""Lists of nodes and pods as CSV files, optionally gzipped, and arrivals drawn from them.

Columns of nodes: sn, cpu_milli, memory_mib, gpu, model. Of pods: name, cpu_milli, memory_mib,
num_gpu, gpu_milli and, if any pod is bound to GPU types, gpu_spec ("T4|P100"; empty: any). Of
recorded arrivals: base_pod, the name of a pod. Of a recorded order of nodes: node, first the one
that is taken when several are equally good.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from plimsoll_bench.recorded import Row, rows_in
from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType, NodeName
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Host

DEMAND_PERCENT = 130


def hosts_in(path: Path) -> tuple[Host, ...]:
    """The nodes of a list."""
    hosts = tuple(
        Host(
            NodeName(row.text("sn")),
            GpuType(row.text("model")),
            row.whole("cpu_milli"),
            row.whole("memory_mib"),
            row.whole("gpu"),
        )
        for row in rows_in(path, about="sn")
    )
    if not any(host.gpus for host in hosts):
        raise SystemExit(f"{path}: no node has a gpu")
    return hosts


def pods_in(path: Path) -> dict[str, PodKind]:
    """The pods of a list by name; like pods are one object."""
    kinds: dict[PodKind, PodKind] = {}
    pods = {row.text("name"): _pod(row) for row in rows_in(path, about="name")}
    if not any(pod.gpus for pod in pods.values()):
        raise SystemExit(f"{path}: num_gpu is 0 for all pods")
    return {name: kinds.setdefault(pod, pod) for name, pod in pods.items()}


def recorded_arrivals(path: Path, pods: Mapping[str, PodKind]) -> tuple[PodKind, ...]:
    """The pods in the recorded order."""
    rows = rows_in(path)
    for row in rows:
        if row.text("base_pod") not in pods:
            raise row.wrong("base_pod", "is no pod of the list")
    return tuple(pods[row.text("base_pod")] for row in rows)


def in_recorded_order(path: Path, hosts: Sequence[Host]) -> tuple[Host, ...]:
    """The nodes in the recorded order."""
    by_name = {host.name: host for host in hosts}
    names = [NodeName(row.text("node")) for row in rows_in(path)]
    if sorted(names) != sorted(by_name):
        raise SystemExit(f"{path}: node does not name each node of the list once")
    return tuple(by_name[name] for name in names)


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


def _pod(row: Row) -> PodKind:
    bound = row.has("gpu_spec") and row.known("gpu_spec")
    models = row.text("gpu_spec").split("|") if bound else []
    gpus, milli = row.whole("num_gpu"), row.whole("gpu_milli")
    least = {0: 0, 1: 1}.get(gpus, WHOLE_GPU_MILLI)
    if not least <= milli <= (WHOLE_GPU_MILLI if gpus else 0):
        raise row.wrong("gpu_milli", f"does not go with num_gpu {gpus}")
    return PodKind(
        row.whole("cpu_milli"),
        row.whole("memory_mib"),
        gpus,
        milli,
        frozenset(GpuType(model) for model in models if model),
    )
