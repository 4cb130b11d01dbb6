"""Replay arrivals when placed pods may be moved to make room for the next."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plimsoll_bench.packing.lookahead import Lookahead
from plimsoll_bench.packing.replay import Replay
from plimsoll_bench.packing.room import Mover, MoveTerms, Room
from plimsoll_bench.packing.tenants import Tenants
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Placement


@dataclass(frozen=True, slots=True)
class ReplayWithMoves:
    """The replay, with each pod's place at its arrival, and the moves in order."""

    replay: Replay
    rooms: tuple[Room, ...]


def replay_with_moves(
    cluster: Cluster, policy: Lookahead, pods: Iterable[PodKind], terms: MoveTerms
) -> ReplayWithMoves:
    """Place the pods one by one in `cluster`, which is changed; move only for what fits nowhere."""
    tenants = Tenants(cluster)
    mover = Mover(cluster, tenants, policy, terms)
    placements: list[Placement | None] = []
    rooms: list[Room] = []
    arrived: list[int] = []
    used: list[int] = []
    demand = 0
    for pod in pods:
        placement = policy.place(pod)
        if placement is not None:
            tenants.settle(pod, placement)
        elif room := mover.room(pod):
            rooms.append(room)
            placement = room.placement
        demand += pod.total_gpu_milli
        placements.append(placement)
        arrived.append(demand)
        used.append(cluster.used_milli)
    replay = Replay(cluster.capacity_milli, tuple(placements), np.array(arrived), np.array(used))
    return ReplayWithMoves(replay, tuple(rooms))
