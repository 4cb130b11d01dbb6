"""Estimate the GPU power that each queue's jobs draw, from their nodes' measured draw.

A node's draw is split by what each of its GPUs should draw: idle ones and those of unmanaged pods
are nobody's. Where a node's draw is not measured, the expected one stands for it.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.cluster.holdings import Holdings
from plimsoll.planning.cluster.power_model import MILLIWATTS, idle_milliwatts, powered
from plimsoll_placement.model import WHOLE_GPU_MILLI, QueueName

_NO_WATTS: Final[Mapping[str, float]] = {}


def watts_by_queue(snapshot: Snapshot, held: Holdings) -> dict[QueueName, float]:
    """The watts of jobs by the queue that they name, in pools whose power is known."""
    by_node: dict[str, dict[QueueName, tuple[int, int]]] = defaultdict(dict)
    for place, gpu_milli in held.gpu_milli.items():
        queue, _, name = place
        gpus, draw = by_node[name].get(queue, (0, 0))
        by_node[name][queue] = gpus + gpu_milli, draw + held.draw_milli[place]
    measured = snapshot.power.nodes if snapshot.power else _NO_WATTS
    found: dict[QueueName, float] = defaultdict(float)
    nodes = (snapshot.node_by_name[name] for name in by_node if name in snapshot.node_by_name)
    for node, power in powered(nodes, snapshot):
        above_idle = power.typical_watts - power.idle_watts
        watts = {
            queue: (gpus * power.idle_watts + draw * above_idle) / WHOLE_GPU_MILLI
            for queue, (gpus, draw) in by_node[node.name].items()
        }
        draws = sum(draw for _, draw in by_node[node.name].values())
        expected = idle_milliwatts(node, power) / MILLIWATTS + draws * above_idle / WHOLE_GPU_MILLI
        seen = measured.get(node.name)
        scale = 1.0 if seen is None or expected <= 0 else seen / expected
        for queue, each in watts.items():
            found[queue] += scale * each
    return found
