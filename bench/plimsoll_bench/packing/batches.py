"""Place pods in batches: each waits until enough have come; the most beneficial go first."""

from collections.abc import Sequence

import numpy as np

from plimsoll_bench.packing.lookahead import Lookahead
from plimsoll_bench.packing.replay import Replay
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Placement


def replay_in_batches(
    cluster: Cluster, policy: Lookahead, pods: Sequence[PodKind], size: int
) -> Replay:
    """Place the pods in `cluster`, which is changed, `size` of them at a time.

    A pod counts as demand when it comes, and as use once its batch is placed. One that then fits
    nowhere goes away.
    """
    placements: list[Placement | None] = []
    used: list[int] = []
    for first in range(0, len(pods), size):
        batch = pods[first : first + size]
        used += [cluster.used_milli] * (len(batch) - 1)
        placements += _placements(cluster, policy, batch)
        used.append(cluster.used_milli)
    arrived = np.cumsum([pod.total_gpu_milli for pod in pods])
    return Replay(cluster.capacity_milli, tuple(placements), arrived, np.array(used))


def _placements(
    cluster: Cluster, policy: Lookahead, batch: Sequence[PodKind]
) -> list[Placement | None]:
    """The places of one batch, in the order of the batch."""
    for pod in batch:
        policy.saw(pod)
    benefit = {pod: policy.benefit_milli(pod) for pod in dict.fromkeys(batch)}
    placements: list[Placement | None] = [None] * len(batch)
    for number in sorted(range(len(batch)), key=lambda number: -benefit[batch[number]]):
        placement = placements[number] = policy.best_placement(batch[number])
        if placement is not None:
            cluster.take(batch[number], placement)
    return placements
