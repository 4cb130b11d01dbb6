"""How many pods the largest domain of a topology level holds, by GPU type, if all of it is free."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from plimsoll_placement.model import GpuType, Node


class DomainSizes:
    """The sizes of one cluster's domains, counted when they are first asked for."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._known: dict[tuple[int, int], Mapping[GpuType, int]] = {}

    def largest(self, level: int, gpu_milli: int) -> Mapping[GpuType, int]:
        """The pods of so many milli-GPUs that fit into the largest domain of a level."""
        key = level, gpu_milli
        if key not in self._known:
            self._known[key] = _largest(self._nodes, level, max(gpu_milli, 1))
        return self._known[key]


def _largest(nodes: Sequence[Node], level: int, gpu_milli: int) -> dict[GpuType, int]:
    held: dict[tuple[GpuType, str], int] = defaultdict(int)
    for node in nodes:
        domain = node.topology[level]
        # Without the label a node is a domain of its own.
        name = f"domain {domain}" if domain else f"node {node.name}"
        for devices in node.devices:
            held[devices.gpu_type, name] += sum(devices.free_milli) // gpu_milli
    found: dict[GpuType, int] = {}
    for (kind, _), pods in held.items():
        found[kind] = max(found.get(kind, 0), pods)
    return found
