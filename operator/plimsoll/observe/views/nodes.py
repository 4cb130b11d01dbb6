"""What a node offers, and what unmanaged pods leave of it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from plimsoll.api.values.quantities import millis, units
from plimsoll.kube.objects.objects import Node, Quantities
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.nodes.gpus import Offer, gpu_offers, is_gpu_resource
from plimsoll.observe.nodes.notices import Availability
from plimsoll.observe.nodes.power_limits import power_limits
from plimsoll.observe.readable import readable
from plimsoll.observe.snapshot import NodeView
from plimsoll_placement.model import Amounts


@dataclass(frozen=True, slots=True)
class Taken:
    """What unmanaged pods take of a node: those that stay and those on their way out."""

    staying: list[Requests] = field(default_factory=list[Requests])
    leaving: list[Requests] = field(default_factory=list[Requests])


NOTHING: Final = Taken()
_COUNTED: Final = ("cpu", "memory", "pods")


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """What a node has to give."""

    offers: tuple[Offer, ...]
    cpu_millis: int
    memory_bytes: int
    pod_slots: int
    others: Amounts = ()


def node_offer(node: Node) -> NodeOffer:
    """What a node has to give before any pod takes its part."""
    allocatable = node.status.allocatable or node.status.capacity
    cpu, memory, pods = (_amount(allocatable, name) for name in _COUNTED)
    others = (
        (name, units(str(quantity)))
        for name, quantity in sorted(allocatable.items())
        if name not in _COUNTED and not is_gpu_resource(name)
    )
    found = tuple((name, amount) for name, amount in others if amount > 0)
    return NodeOffer(gpu_offers(node), cpu, memory, pods, found)


class NodeOffers:
    """What nodes have to give, read once from each."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Node, NodeOffer | None]] = {}

    def of(self, node: Node) -> NodeOffer | None:
        """What a node has to give; if it is unreadable now, what it had; None if it never was."""
        name = node.metadata.name
        known = self._known.get(name)
        if known is None or known[0] is not node:
            before = known[1] if known is not None else None
            known = self._known[name] = node, readable(node, lambda: node_offer(node)) or before
        return known[1]

    def forget_others(self, nodes: Sequence[Node]) -> None:
        """Forget nodes that are gone, once there are more than nodes."""
        if len(self._known) > len(nodes):
            names = {node.metadata.name for node in nodes}
            self._known = {name: known for name, known in self._known.items() if name in names}


def node_view(node: Node, whole: NodeOffer, taken: Taken, state: Availability) -> NodeView:
    """A node with what unmanaged pods leave of it."""
    devices: dict[str, int] = defaultdict(int)
    cpu, memory, slots = whole.cpu_millis, whole.memory_bytes, whole.pod_slots
    for requests in (*taken.staying, *taken.leaving):
        cpu -= requests.cpu_millis
        memory -= requests.memory_bytes
        slots -= 1
        for resource, count in requests.others.items():
            devices[resource] += count
    leaving = tuple(taken.leaving)
    limits = power_limits(node)
    room = (cpu, memory, slots, devices)
    return NodeView(node, whole.offers, *room, state, leaving, limits, whole.others)


def _amount(quantities: Quantities, name: str) -> int:
    text = str(quantities.get(name, 0))
    return millis(text) if name == "cpu" else units(text)
