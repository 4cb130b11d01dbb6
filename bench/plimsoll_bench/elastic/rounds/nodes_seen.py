"""How a plan sees the nodes: each one separately, or all of a GPU type as one.

`ByType` is for a world where moves among like nodes are free: a GPU type and a size are chosen, and
nodes are found afterwards. `ByNode` is for one where they are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from plimsoll_bench.elastic.rounds.placing import Choice, placed
from plimsoll_placement.estimate.elastic.yields import Demand
from plimsoll_placement.model import (
    WHOLE_GPU_MILLI,
    Assignment,
    Assignments,
    Devices,
    GpuType,
    Node,
    NodeName,
    Placements,
    RoleName,
)
from plimsoll_simulator.recorded.gpu_pools import Place, Pool, node_names

WORKER = RoleName("worker")
CROSSING_PERCENT = 90
"""Keeps a size that fits on one node from being spread over several."""


class Ground(Protocol):
    """How nodes and places of the simulation appear in a planning problem."""

    @property
    def crossing_percent(self) -> int:
        """What a job that could be on one node loses across several, in percent; 0 if nothing."""
        ...

    def nodes(self, pools: Sequence[Pool]) -> tuple[Node, ...]:
        """The nodes of the problem."""
        ...

    def yields(self, asked: Demand, pool: Pool) -> tuple[int, ...]:
        """What a job yields on a pool's GPUs at each count."""
        ...

    def assigned(self, place: Place) -> Assignments:
        """What a job holds, for the problem."""
        ...

    def places(self, pools: Sequence[Pool], placements: Placements) -> dict[str, Place]:
        """Where the jobs are, by the solution."""
        ...


@dataclass(frozen=True, slots=True)
class ByType:
    """Treats all GPUs of a type as one node."""

    crossing_percent: int = 0

    def nodes(self, pools: Sequence[Pool]) -> tuple[Node, ...]:
        """One for each pool."""
        return tuple(_node(pool.gpu_type, pool.gpu_type, pool.gpus) for pool in pools)

    def yields(self, asked: Demand, pool: Pool) -> tuple[int, ...]:
        """As they are asked for."""
        return asked.yields[GpuType(pool.gpu_type)]

    def assigned(self, place: Place) -> Assignments:
        """As many replicas as the place has GPUs."""
        return _assignments(place.gpu_type, [place.gpu_type] * place.gpus)

    def places(self, pools: Sequence[Pool], placements: Placements) -> dict[str, Place]:
        """Shapes on nodes, placed anew."""
        by_type = {pool.gpu_type: pool for pool in pools}
        chosen = {
            str(name): Choice(kind := assigned[0].gpu_type, by_type[kind].shape(len(assigned)))
            for name, assigned in placements.items()
        }
        return placed(pools, chosen)


@dataclass(frozen=True, slots=True)
class ByNode:
    """Each node is separate; what fits on one loses most of its yield across several."""

    crossing_percent: int = CROSSING_PERCENT

    def nodes(self, pools: Sequence[Pool]) -> tuple[Node, ...]:
        """All nodes of all pools."""
        return tuple(
            _node(name, pool.gpu_type, pool.gpus_per_node)
            for pool in pools
            for name in node_names(pool)
        )

    def yields(self, asked: Demand, pool: Pool) -> tuple[int, ...]:
        """Sizes beyond one node always cross, so their yields are raised to lose nothing by it."""
        keeps = 100 - self.crossing_percent
        return tuple(
            milli if count <= pool.gpus_per_node else milli * 100 // keeps
            for count, milli in zip(asked.counts, asked.yields[GpuType(pool.gpu_type)], strict=True)
        )

    def assigned(self, place: Place) -> Assignments:
        """A replica for each GPU on its node."""
        nodes = [name for name, gpus in sorted(place.on.items()) for _ in range(gpus)]
        return _assignments(place.gpu_type, nodes)

    def places(self, pools: Sequence[Pool], placements: Placements) -> dict[str, Place]:
        """The nodes of the assignments."""
        del pools
        return {str(name): _place(assigned) for name, assigned in placements.items()}


def _node(name: str, gpu_type: str, gpus: int) -> Node:
    devices = (Devices(GpuType(gpu_type), (WHOLE_GPU_MILLI,) * gpus),)
    return Node(NodeName(name), devices, 0, 0, pod_slots=gpus, topology=(name,))


def _assignments(gpu_type: str, nodes: Sequence[str]) -> Assignments:
    return tuple(
        Assignment(WORKER, index, GpuType(gpu_type), (NodeName(name),))
        for index, name in enumerate(nodes)
    )


def _place(assigned: Assignments) -> Place:
    on: dict[str, int] = {}
    for assignment in assigned:
        for name in assignment.nodes:
            on[name] = on.get(name, 0) + 1
    return Place(assigned[0].gpu_type, on)
