"""Place pods in batches: each waits until enough have come; the most beneficial go first."""

from collections.abc import Sequence

import numpy as np

from plimsoll_bench.packing.lookahead import Lookahead
from plimsoll_bench.packing.replay import Replay
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Seat


def replay_in_batches(
    cluster: Cluster, policy: Lookahead, pods: Sequence[PodKind], size: int
) -> Replay:
    """Place the pods in `cluster`, which is changed, `size` of them at a time.

    A pod counts as demand when it comes, and as use once its batch is placed. One that then fits
    nowhere goes away.
    """
    seats: list[Seat | None] = []
    used: list[int] = []
    for first in range(0, len(pods), size):
        batch = pods[first : first + size]
        used += [cluster.used_milli] * (len(batch) - 1)
        seats += _seats(cluster, policy, batch)
        used.append(cluster.used_milli)
    arrived = np.cumsum([pod.total_gpu_milli for pod in pods])
    return Replay(cluster.capacity_milli, tuple(seats), arrived, np.array(used))


def _seats(cluster: Cluster, policy: Lookahead, batch: Sequence[PodKind]) -> list[Seat | None]:
    """The places of one batch, in the order of the batch."""
    for pod in batch:
        policy.saw(pod)
    benefit = {pod: policy.benefit_milli(pod) for pod in dict.fromkeys(batch)}
    seats: list[Seat | None] = [None] * len(batch)
    for number in sorted(range(len(batch)), key=lambda number: -benefit[batch[number]]):
        seat = seats[number] = policy.best_seat(batch[number])
        if seat is not None:
            cluster.take(batch[number], seat)
    return seats
