"""GPUs that pods of jobs hold although their node says nothing of them for the moment.

While its device plugin restarts, a node has none, and while its labels are written anew, as by an
update of Node Feature Discovery, nobody says which they are. What runs there goes on.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.kinds import Job
from plimsoll.kube.objects.objects import Node
from plimsoll.observe.kept import Kept
from plimsoll.observe.nodes.gpus import Offer, is_gpu_resource, is_unnamed, product_names
from plimsoll.observe.readable import readable
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.views.job_pods import PodsByJob
from plimsoll.observe.views.nodes import NodeOffer, node_offer
from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType

PLUGIN_GRACE: Final = timedelta(minutes=5)
"""How long a node may have none of the GPUs that pods hold: as long as the kubelet itself waits for
a device plugin to come back. After that they are lost."""


@dataclass(frozen=True, slots=True)
class Held:
    """Units of a resource that pods hold on a node, and the type and share that they are of."""

    gpu_type: GpuType
    resource: str
    units: int
    share_milli: int


HeldByNode = Mapping[str, tuple[Held, ...]]
"""By the name of a node that does not say enough of its GPUs."""
_Lacking = tuple[frozenset[str], frozenset[str]]
"""The names of nodes whose GPUs are away, and of those with GPUs of a type without a name."""


class HeldDevices:
    """Finds what is held, one snapshot after the other."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Node, bool, bool]] = {}
        self._lacking, self._all_held = Kept[_Lacking](), Kept[HeldByNode]()
        self._since: dict[str, datetime] = {}
        self._held: HeldByNode = {}

    def of(
        self, nodes: Sequence[Node], jobs: Sequence[Job], pods: PodsByJob, now: datetime
    ) -> HeldByNode:
        """What jobs hold on nodes that do not say enough of their GPUs, for a while."""
        silent, unnamed = lacking = self._lacking.of(lambda: self._look(nodes), nodes)
        held = self._all_held.of(
            lambda: _held_on(silent | unnamed, jobs, pods), lacking, jobs, (pods,)
        )
        self._since = {name: self._since.get(name, now) for name in silent & held.keys()}
        lost = {name for name, since in self._since.items() if now - since > PLUGIN_GRACE}
        held = {name: those for name, those in held.items() if name not in lost}
        self._held = self._held if held == self._held else held
        return self._held

    def _look(self, nodes: Sequence[Node]) -> _Lacking:
        self._known = {node.metadata.name: self._seen(node) for node in nodes}
        known = self._known.values()
        return (
            frozenset(node.metadata.name for node, has_none, _ in known if has_none),
            frozenset(node.metadata.name for node, _, lacks_type in known if lacks_type),
        )

    def _seen(self, node: Node) -> tuple[Node, bool, bool]:
        """The node, whether its GPUs are away, and whether it has some of a type without a name."""
        known = self._known.get(node.metadata.name)
        if known is not None and known[0] is node:
            return known
        whole = readable(node, lambda: node_offer(node))
        offers = whole.offers if whole is not None else ()
        return (
            node,
            not offers and _is_for_gpus(node),
            any(is_unnamed(each.gpu_type) for each in offers),
        )


def _is_for_gpus(node: Node) -> bool:
    """Whether a node says that it has, or had, GPUs: most nodes without any never had some."""
    resources = (*node.status.capacity, *node.status.allocatable)
    return any(map(is_gpu_resource, resources)) or bool(product_names(node.metadata.labels))


def with_held(whole: NodeOffer, held: Sequence[Held]) -> NodeOffer:
    """What a node has to give, with what pods hold there that it does not say.

    Of devices that it does not report, just so many are there as are held; of those that it
    reports without their type, all are of the type under which some are held.
    """
    if not held:
        return whole
    reported = {offer.resource: offer for offer in whole.offers}
    for each in held:
        there = reported.get(each.resource)
        if there is None:
            reported[each.resource] = _offer(each, each.units)
        elif is_unnamed(there.gpu_type):
            reported[each.resource] = _offer(each, there.count * there.units_per_device)
    return replace(whole, offers=tuple(reported[resource] for resource in sorted(reported)))


def _offer(held: Held, units: int) -> Offer:
    offer = Offer(held.gpu_type, held.resource, 0, held.share_milli)
    return replace(offer, count=-(-units // offer.units_per_device))


def _held_on(names: frozenset[str], jobs: Iterable[Job], pods: PodsByJob) -> HeldByNode:
    """What the pods of jobs hold on nodes of these names."""
    found: dict[str, dict[str, Held]] = defaultdict(dict)
    for job in jobs if names else ():
        for pod, gpu_type in _placed_on(names, job, pods.get(job.metadata.uid, ())):
            share = _share_milli(job, pod)
            for resource, units in pod.requests.others.items():
                if is_gpu_resource(resource):
                    there = found[pod.node].get(resource, Held(gpu_type, resource, 0, share))
                    found[pod.node][resource] = replace(there, units=there.units + units)
    return {name: tuple(of[each] for each in sorted(of)) for name, of in found.items()}


def _placed_on(
    names: frozenset[str], job: Job, pods: Iterable[PodView]
) -> Iterator[tuple[PodView, GpuType]]:
    """A job's pods that run on some nodes, and the GPU type of their place."""
    placement = job.status.placement
    places = placement.assignments if placement is not None else ()
    kinds = {
        (place.role, name): GpuType(place.accelerator_type)
        for place in places
        for name in names.intersection(place.nodes)
    }
    for pod in pods if kinds else ():
        gpu_type = kinds.get((pod.role, pod.node))
        if gpu_type and not is_unnamed(gpu_type) and not pod.is_over:
            yield pod, gpu_type


def _share_milli(job: Job, pod: PodView) -> int:
    """The share of a device that a unit is of which a pod has some."""
    milli = job.spec.milli_gpus_by_role.get(pod.role, WHOLE_GPU_MILLI)
    return milli if 0 < milli < WHOLE_GPU_MILLI else WHOLE_GPU_MILLI
