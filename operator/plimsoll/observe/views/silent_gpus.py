"""GPUs of which a node says nothing for the moment, or not yet what they are.

While its device plugin restarts, a node has none, and while its labels are written anew, as by an
update of Node Feature Discovery, nobody says which they are. What runs there goes on.

The GPUs of a new node may be reported a minute before anything names them. A job placed there at
once, on GPUs of an unknown type, would have to start again as soon as they have a name.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.kinds import Job
from plimsoll.kube.objects.objects import Node
from plimsoll.observe.kept import Kept
from plimsoll.observe.nodes.gpus import Offer, is_gpu_resource, is_unnamed, product_names
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.views.job_pods import PodsByJob
from plimsoll.observe.views.nodes import NodeOffer, NodeOffers
from plimsoll.observe.views.pools import pool_of
from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType

PLUGIN_GRACE: Final = timedelta(minutes=5)
"""How long a node may have none of the GPUs that pods hold: as long as the kubelet itself waits for
a device plugin to come back. After that they are lost."""
NAMED_WITHIN: Final = timedelta(minutes=2)
"""How long GPUs without a name are left alone; after that they are of an unknown type."""
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Held:
    """Units of a resource that pods hold on a node, and the type and share that they are of."""

    gpu_type: GpuType
    resource: str
    units: int
    share_milli: int


@dataclass(frozen=True, slots=True)
class Unsaid:
    """What a node does not say of its GPUs: what pods hold, and whether others await a name."""

    held: tuple[Held, ...] = ()
    awaits_name: bool = False


NOTHING_UNSAID: Final = Unsaid()
UnsaidByNode = Mapping[str, Unsaid]
"""By the node's name; most nodes say all."""
_Lacking = tuple[Sequence[Node], Sequence[Node]]
"""Nodes whose GPUs are away, and those with GPUs of a type without a name."""


class SilentGpus:
    """Finds what nodes do not say, one snapshot after the other."""

    def __init__(self, offers: NodeOffers) -> None:
        self._offers = offers
        self._known: dict[str, tuple[Node, bool, bool]] = {}
        self._lacking = Kept[_Lacking]()
        self._held = Kept[Mapping[str, tuple[Held, ...]]]()
        self._away: dict[str, datetime] = {}
        self._nameless: dict[str, datetime] = {}
        self._has_looked = False
        self._unsaid: UnsaidByNode = {}

    def of(
        self,
        nodes: Sequence[Node],
        pools: Iterable[GPUPool],
        jobs: Sequence[Job],
        pods: PodsByJob,
        now: datetime,
    ) -> UnsaidByNode:
        """What nodes do not say: the same object as long as nothing in it changes.

        GPUs that had no name before this looked for the first time are not waited for.
        """
        silent, nameless = self._lacking.of(lambda: self._look(nodes), nodes)
        held = self._held.of(
            lambda: _held_on(_names((*silent, *nameless)), jobs, pods),
            *(silent, nameless, jobs, (pods,)),
        )
        self._away = {name: self._away.get(name, now) for name in _names(silent) & held.keys()}
        since = now if self._has_looked else _LONG_AGO
        self._nameless = {name: self._nameless.get(name, since) for name in _names(nameless)}
        self._has_looked = True
        lost = {name for name, since in self._away.items() if now - since > PLUGIN_GRACE}
        late = {name for name, since in self._nameless.items() if now - since > NAMED_WITHIN}
        unsaid = {name: Unsaid(those) for name, those in held.items() if name not in lost}
        for node in nameless:
            name = node.metadata.name
            if name not in late and not _is_named(node, pools):
                unsaid[name] = replace(unsaid.get(name, NOTHING_UNSAID), awaits_name=True)
        self._unsaid = self._unsaid if unsaid == self._unsaid else unsaid
        return self._unsaid

    def _look(self, nodes: Sequence[Node]) -> _Lacking:
        self._known = {node.metadata.name: self._seen(node) for node in nodes}
        known = self._known.values()
        return [node for node, is_away, _ in known if is_away], [
            node for node, _, is_nameless in known if is_nameless
        ]

    def _seen(self, node: Node) -> tuple[Node, bool, bool]:
        """The node, whether its GPUs are away, and whether it has some of a type without a name."""
        known = self._known.get(node.metadata.name)
        if known is not None and known[0] is node:
            return known
        whole = self._offers.of(node)
        offers = whole.offers if whole is not None else ()
        return node, not offers and _is_for_gpus(node), any(is_unnamed(e.gpu_type) for e in offers)


def with_unsaid(whole: NodeOffer, unsaid: Unsaid) -> NodeOffer:
    """What a node has to give, with what it does not say.

    Of devices that it does not report, just so many are there as are held; of those that it
    reports without their type, all are of the type under which some are held, and otherwise none
    are there as long as they await their name.
    """
    if unsaid is NOTHING_UNSAID:
        return whole
    held = {each.resource: each for each in unsaid.held}
    found: dict[str, Offer] = {}
    for offer in whole.offers:
        mine = held.pop(offer.resource, None)
        if is_unnamed(offer.gpu_type) and mine is not None:
            found[offer.resource] = _offer(mine, offer.count * offer.units_per_device)
        elif not (is_unnamed(offer.gpu_type) and unsaid.awaits_name):
            found[offer.resource] = offer
    found |= {resource: _offer(each, each.units) for resource, each in held.items()}
    return replace(whole, offers=tuple(found[resource] for resource in sorted(found)))


def _offer(held: Held, units: int) -> Offer:
    offer = Offer(held.gpu_type, held.resource, 0, held.share_milli)
    return replace(offer, count=-(-units // offer.units_per_device))


def _names(nodes: Iterable[Node]) -> frozenset[str]:
    return frozenset(node.metadata.name for node in nodes)


def _is_for_gpus(node: Node) -> bool:
    """Whether a node says that it has, or had, GPUs: most nodes without any never had some."""
    resources = (*node.status.capacity, *node.status.allocatable)
    return any(map(is_gpu_resource, resources)) or bool(product_names(node.metadata.labels))


def _is_named(node: Node, pools: Iterable[GPUPool]) -> bool:
    """Whether the pool of a node names its GPUs."""
    pool = pool_of(node.metadata, pools)
    return pool is not None and pool.spec.gpu_type is not None


def _held_on(
    names: frozenset[str], jobs: Iterable[Job], pods: PodsByJob
) -> dict[str, tuple[Held, ...]]:
    """What the pods of jobs hold on nodes of these names."""
    found: dict[str, dict[str, Held]] = defaultdict(dict)
    for job in jobs if names else ():
        for pod, gpu_type in _placed_on(names, job, pods.get(job.metadata.uid, ())):
            share = _share_milli(job, pod)
            for resource, units in pod.requests.others.items():
                if is_gpu_resource(resource):
                    there = found[pod.node].get(resource, Held(gpu_type, resource, 0, share))
                    known = gpu_type if is_unnamed(there.gpu_type) else there.gpu_type
                    more = replace(there, gpu_type=known, units=there.units + units)
                    found[pod.node][resource] = more
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
        if gpu_type and not pod.is_over:
            yield pod, gpu_type


def _share_milli(job: Job, pod: PodView) -> int:
    """The share of a device that a unit is of which a pod has some."""
    milli = job.spec.milli_gpus_by_role.get(pod.role, WHOLE_GPU_MILLI)
    return milli if 0 < milli < WHOLE_GPU_MILLI else WHOLE_GPU_MILLI
