"""How much is really free on the nodes now, counting every pod that has not ended yet.

A plan gives capacity to a job before its previous holders have gone. The job's pods are created
only when this says that they fit; what it promises in one turn it does not promise again.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from plimsoll.acting.pods.manifest import PodPlacement
from plimsoll.observe.assumed.gpu_memory import shared_memory
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.labels import GPU_MEMORY
from plimsoll.observe.snapshot import NodeView, PodView, Snapshot
from plimsoll_placement.model import Shape, amount_in

CPU, MEMORY, PODS = "cpu", "memory", "pods"


@dataclass(frozen=True, slots=True)
class Need:
    """What one pod takes of a node, GPUs included."""

    node: str
    amounts: tuple[tuple[str, int], ...]


def need(placement: PodPlacement, shape: Shape, weights_bytes: int) -> Need:
    """What the pod in a place takes; `weights_bytes` of the memory of a GPU that it shares."""
    weights = [(GPU_MEMORY, weights_bytes)] if weights_bytes else []
    gpus = [(placement.gpu_resource, placement.gpu_units)] if placement.gpu_units else []
    plain = ((CPU, shape.cpu_millis), (MEMORY, shape.memory_bytes), (PODS, 1))
    return Need(placement.node, (*plain, *gpus, *weights, *shape.others))


def needs_of_pod(pod: PodView, node: str) -> Need:
    """What a pod takes of the node that it is sent to."""
    needs = pod.requests
    own = ((CPU, needs.cpu_millis), (MEMORY, needs.memory_bytes), (PODS, 1))
    return Need(node, (*own, *needs.others.items()))


class Occupancy:
    """Free amounts by node and resource, reduced as they are promised.

    `doubtful` are pods that may have been created although nobody has seen them yet.
    """

    def __init__(self, snapshot: Snapshot, doubtful: Iterable[PodView] = ()) -> None:
        self._snapshot, self._doubtful = snapshot, tuple(doubtful)

    @cached_property
    def _free(self) -> dict[str, dict[str, int]]:
        """Counted when first asked for: in most turns nothing is created."""
        free = {node.name: _free(node) for node in self._snapshot.nodes}
        seen = (pod for job in self._snapshot.present for pod in job.pods)
        # An unbound pod that is being deleted is never bound, however long a finalizer keeps it.
        alive = [pod for pod in seen if not pod.is_over and (pod.node or not pod.deleting)]
        names = {(pod.namespace, pod.name) for pod in alive}
        unseen = (pod for pod in self._doubtful if (pod.namespace, pod.name) not in names)
        for pod in (*alive, *unseen):
            node = free.get(pod.node or pod.wanted_node)
            if node is not None:
                _subtract(node, pod.requests)
        return free

    def take_all(self, needs: Sequence[Need]) -> bool:
        """Promise everything or nothing; return whether it fits."""
        total: dict[tuple[str, str], int] = defaultdict(int)
        for each in needs:
            for resource, amount in each.amounts:
                total[each.node, resource] += amount
        if any(amount > self.free(*key) for key, amount in total.items()):
            return False
        for (node, resource), amount in total.items():
            self._free[node][resource] = self.free(node, resource) - amount
        return True

    def free(self, node: str, resource: str) -> int:
        """What is left of a resource on a node."""
        return amount_in(self._free[node], resource) if node in self._free else 0

    def crowded(self, needs: Iterable[Need]) -> list[str]:
        """The nodes that lack something of what is needed, by name."""
        total: dict[tuple[str, str], int] = defaultdict(int)
        for each in needs:
            for resource, amount in each.amounts:
                total[each.node, resource] += amount
        return sorted({node for (node, res), n in total.items() if n > self.free(node, res)})


def _subtract(free: dict[str, int], requests: Requests) -> None:
    free[CPU] -= requests.cpu_millis
    free[MEMORY] -= requests.memory_bytes
    free[PODS] -= 1
    for resource, count in requests.others.items():
        free[resource] = amount_in(free, resource) - count


def _free(node: NodeView) -> dict[str, int]:
    free = {CPU: node.cpu_millis, MEMORY: node.memory_bytes, PODS: node.pod_slots}
    held = node.unmanaged_units.get(GPU_MEMORY, 0)
    free[GPU_MEMORY] = shared_memory(node).total_bytes - held
    for offer in node.offers:
        taken = node.unmanaged_units.get(offer.resource, 0)
        free[offer.resource] = offer.count * offer.units_per_device - taken
    free.update(node.others_left)
    return free
