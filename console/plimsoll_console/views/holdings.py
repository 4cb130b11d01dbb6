"""Which GPUs of which node are held, by whom, and how far that has come."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from plimsoll.api.parts.conditions import is_true
from plimsoll.observe.nodes.gpus import Offer
from plimsoll.observe.snapshot import JobView, NodeView, PodView, Snapshot
from plimsoll.observe.views.pools import gpu_type_of
from plimsoll.vocabulary.reasons import Reason
from plimsoll_console.messages.keys import JobState

Phase = Literal["Coming", "Running", "Going"]


@dataclass(frozen=True, slots=True)
class Held:
    """So many units of a resource of a node, held by a pod of a job."""

    job: JobView
    resource: str
    units: int
    phase: Phase


Holdings = Mapping[str, tuple[Held, ...]]
"""What pods of jobs hold, by node."""


def holdings_of(snapshot: Snapshot) -> Holdings:
    """What pods of jobs hold of each node."""
    found: dict[str, list[Held]] = defaultdict(list)
    for view in snapshot.present:
        for pod in view.pods:
            node = snapshot.node_by_name.get(pod.node or pod.wanted_node)
            if node is not None and not pod.is_over:
                found[node.name].extend(_held(view, pod, node))
    return {name: tuple(held) for name, held in found.items()}


def _held(view: JobView, pod: PodView, node: NodeView) -> Iterator[Held]:
    phase = phase_of(pod)
    for offer in node.offers:
        units = held_units(pod, offer)
        if units:
            yield Held(view, offer.resource, units, phase)


def held_units(pod: PodView, offer: Offer) -> int:
    """How much of an offer a pod holds: whatever it requests, no more than there is."""
    return min(pod.requests.others.get(offer.resource, 0), all_units(offer))


def other_units(node: NodeView, offer: Offer) -> int:
    """How much of an offer other pods hold, likewise."""
    return min(node.unmanaged_units.get(offer.resource, 0), all_units(offer))


def all_units(offer: Offer) -> int:
    """How much there is of an offer."""
    return offer.count * offer.units_per_device


def phase_of(pod: PodView) -> Phase:
    """How far a pod has come."""
    if pod.deleting or pod.draining_since is not None:
        return "Going"
    return "Running" if pod.node and pod.phase == "Running" else "Coming"


def state_of(view: JobView) -> JobState:
    """What a job does, in a word."""
    status = view.resource.status
    if view.is_over:
        return "Failed" if is_true(status.conditions, "Failed") else "Complete"
    if status.placement is not None:
        return "Running" if is_true(status.conditions, "Running") else "Starting"
    if any(not pod.is_over and pod.node for pod in view.pods):
        return "Stopping"
    return "Suspended" if view.resource.spec.suspend else "Waiting"


def is_waiting(view: JobView) -> bool:
    """Whether a job waits for a place."""
    scaled_down = view.resource.status.reason == Reason.SCALED_TO_ZERO
    return state_of(view) == "Waiting" and not scaled_down


def type_of(snapshot: Snapshot, node: NodeView, offer: Offer) -> str:
    """What plans call the GPUs of an offer."""
    return gpu_type_of(offer, node, snapshot.pool_by_node.get(node.name))


def milli_by_type(snapshot: Snapshot, view: JobView) -> dict[str, int]:
    """The milli-GPUs that a job's pods hold, by GPU type."""
    found: dict[str, int] = defaultdict(int)
    for pod in view.pods:
        node = snapshot.node_by_name.get(pod.node or pod.wanted_node)
        if node is None or pod.is_over:
            continue
        for offer in node.offers:
            units = held_units(pod, offer)
            if units:
                found[type_of(snapshot, node, offer)] += units * offer.share_milli
    return dict(found)


def dollars_per_hour(snapshot: Snapshot, view: JobView) -> float | None:
    """What the GPUs that a job holds cost an hour; None where a price is not known."""
    total, is_known = 0.0, False
    for pod in view.pods:
        node = snapshot.node_by_name.get(pod.node or pod.wanted_node)
        price = price_of(snapshot, node.name) if node and not pod.is_over else None
        if node is not None and price is not None:
            total += price * _milli(node, pod) / 1000
            is_known = True
    return round(total, 4) if is_known else None


def price_of(snapshot: Snapshot, node: str) -> float | None:
    """The price of a GPU-hour of a node; None if nobody has stated one."""
    pool = snapshot.pool_by_node.get(node)
    if pool is None:
        return None
    seen = pool.status.provisioning
    by_catalogue = seen.price_per_gpu_hour if seen is not None else None
    price = pool.spec.price_per_gpu_hour or by_catalogue
    return float(price) if price else None


def _milli(node: NodeView, pod: PodView) -> int:
    return sum(held_units(pod, offer) * offer.share_milli for offer in node.offers)


def watts_per_gpu(snapshot: Snapshot, view: JobView) -> int | None:
    """What one of a job's GPUs draws: measured, otherwise typical of its pool."""
    measured = [each.measured_watts for each in view.resource.status.power]
    if measured:
        return round(sum(measured) / len(measured))
    nodes = (pod.node or pod.wanted_node for pod in view.pods if not pod.is_over)
    pools = (snapshot.pool_by_node.get(name) for name in nodes)
    powers = (pool.spec.power for pool in pools if pool is not None)
    return next((power.typical_watts for power in powers if power is not None), None)
