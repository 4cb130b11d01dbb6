"""The GPUs of a cluster: what there is, what pods hold, what is idle, and what cannot be used."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from plimsoll.cli.cluster.objects import GPUPool
from plimsoll.cli.cluster.reading import Known
from plimsoll.cli.output.report import Line
from plimsoll.cli.views.amounts import number, whole
from plimsoll.errors import InvalidQuantity
from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.observe.eligibility.requests import effective_requests
from plimsoll.observe.nodes.gpus import Offer, gpu_offers, is_gpu_resource
from plimsoll.observe.nodes.notices import Availability, availability


class Gpus(Line, frozen=True):
    """The GPUs of a type; `idle` and `unusable` are None where nodes may not be listed.

    Unusable: nothing holds them, and their nodes take no new pods.
    """

    gpu_type: str
    total: float
    used: float
    idle: float | None
    unusable: float | None


@dataclass(frozen=True, slots=True)
class NodeGpus:
    """A node's devices and how many of them pods hold, by resource; and what may be done with it.

    `used` is None where pods may not be listed in all namespaces.
    """

    node: Node
    offers: tuple[Offer, ...]
    used: Mapping[str, float] | None
    state: Availability

    @property
    def total(self) -> float:
        """All its devices."""
        return sum(offer.count for offer in self.offers)

    @property
    def all_used(self) -> float | None:
        """All its devices that are held."""
        return None if self.used is None else whole(sum(self.used.values()))


def nodes_with_gpus(known: Known, now: datetime) -> list[NodeGpus]:
    """The nodes that have GPUs, by name."""
    pods = known.of(Pod)
    held = None if pods.missing else _held(pods.items)
    nodes = sorted(known.of(Node).items, key=lambda node: node.metadata.name)
    return [one for node in nodes if (one := _node(node, held, now)) is not None]


def _node(
    node: Node, held: Mapping[str, Mapping[str, int]] | None, now: datetime
) -> NodeGpus | None:
    try:
        offers = gpu_offers(node)
    except InvalidQuantity:
        return None
    if not offers:
        return None
    used = None
    if held is not None:
        here = held.get(node.metadata.name, {})
        used = {
            offer.resource: min(offer.count, here.get(offer.resource, 0) / offer.units_per_device)
            for offer in offers
        }
    return NodeGpus(node, offers, used, availability(node, now=now))


def _held(pods: Iterable[Pod]) -> Mapping[str, Mapping[str, int]]:
    """What pods hold of the devices of each node, in the units in which these are handed out."""
    held: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in pods:
        if not pod.spec.node_name:
            continue
        try:
            others = effective_requests(pod.spec).others
        except InvalidQuantity:
            continue
        for resource, count in others.items():
            if is_gpu_resource(resource):
                held[pod.spec.node_name][resource] += count
    return held


def gpus_by_type(known: Known, nodes: Sequence[NodeGpus]) -> tuple[Gpus, ...]:
    """The GPUs by type: of the nodes, or of the pools' statuses as far as these are not known."""
    if known.of(Node).missing or known.of(Pod).missing:
        return _of_pools(known.of(GPUPool).items)
    found: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for node in nodes:
        for offer in node.offers:
            used = (node.used or {}).get(offer.resource, 0)
            sums = found[offer.gpu_type]
            sums[0] += offer.count
            sums[1] += used
            sums[2] += 0 if node.state.open else offer.count - used
    return tuple(
        Gpus(kind, whole(total), whole(used), whole(total - used - unusable), whole(unusable))
        for kind, (total, used, unusable) in sorted(found.items())
    )


def _of_pools(pools: Iterable[GPUPool]) -> tuple[Gpus, ...]:
    found: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for pool in pools:
        if pool.status.gpu_type:
            found[pool.status.gpu_type][0] += pool.status.gpus
            found[pool.status.gpu_type][1] += number(pool.status.gpus_used)
    return tuple(
        Gpus(kind, whole(total), whole(used), None, None)
        for kind, (total, used) in sorted(found.items())
    )


def names_type(words: str, gpu_type: str) -> bool:
    """Whether words stand for a GPU type: its whole name, or words of it that follow each other.

    `h100` stands for NVIDIA-H100-80GB-HBM3, but `A10` not for an A100.
    """
    return f"-{words.lower().strip('-')}-" in f"-{gpu_type.lower()}-"
