"""Choose nodes for jobs whose GPU type and shape are chosen; all nodes of a type are alike."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plimsoll_simulator.recorded.gpu_pools import Place, Pool, node_names
from plimsoll_simulator.recorded.timings import Shape


@dataclass(frozen=True, slots=True, order=True)
class Choice:
    """A configuration: a GPU type and a shape."""

    gpu_type: str
    shape: Shape

    @property
    def gpus(self) -> int:
        """All GPUs."""
        return sum(self.shape)


def placed(pools: Sequence[Pool], chosen: Mapping[str, Choice]) -> dict[str, Place]:
    """Nodes for all jobs, the largest first: sizes divide each other, so that all fit."""
    places: dict[str, Place] = {}
    for pool in pools:
        free = Counter(dict.fromkeys(node_names(pool), pool.gpus_per_node))
        mine = [(name, c) for name, c in chosen.items() if c.gpu_type == pool.gpu_type]
        for name, choice in sorted(mine, key=lambda each: (-each[1].gpus, each[0])):
            on: dict[str, int] = {}
            for gpus in choice.shape:
                node = min(
                    (n for n in free if free[n] >= gpus and n not in on), key=free.__getitem__
                )
                free[node] -= gpus
                on[node] = gpus
            places[name] = Place(pool.gpu_type, on)
    return places
