"""The GPU types that a job may use which names none: those that its template's nodes offer.

Nodes that may be ordered for a pool count as well as those that are there.
A partition of a GPU is none of them: whoever wants one names it. Nor are GPUs of two vendors
offered to one job, since its image was built for one of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.objects import Labels, Node, NodeMeta, NodeSpec
from plimsoll.observe.eligibility.eligibility import Constraints
from plimsoll.observe.eligibility.eligible_nodes import EligibleNodes
from plimsoll.observe.eligibility.placement_spec import template_constraints
from plimsoll.observe.eligibility.selection import Selectors
from plimsoll.observe.eligibility.steady import SteadyNodes
from plimsoll.observe.kept import Kept
from plimsoll.observe.nodes.gpu_figures import GpuFigures, figures_of
from plimsoll.observe.nodes.gpus import Offer, product_names
from plimsoll.observe.nodes.pool_templates import (
    expected_labels,
    future_taints,
    gpu_resource,
    product_label,
)
from plimsoll.observe.snapshot import NodeView
from plimsoll.observe.views.pools import gpu_type_of
from plimsoll.observe.whole_numbers import whole_number

_VENDORS: Final = {"nvidia.com/gpu": 0, "nvidia.com/gpu.shared": 0, "amd.com/gpu": 1}
"""Whose GPUs the resources are that are not of partitions; the first vendor is preferred."""
_PARTITION: Final = "-MIG-"
_MEBIBYTE: Final = 2**20
_GIBIBYTE: Final = 2**30

_Seen = tuple[str, Labels, object, tuple[Offer, ...]]


@dataclass(frozen=True, slots=True)
class _Offer:
    """GPUs of a type and a vendor, with so much memory each; `speed` is None if not published."""

    gpu_type: str
    vendor: int
    memory_bytes: int
    speed: float | None


Offers = Mapping[_Offer, int]
"""The nodes, as bits, that have each offer."""


class GpuTypes:
    """The GPU types of some nodes, and which of them a job may use."""

    def __init__(self, nodes: Sequence[Node] = (), offers: Offers | None = None) -> None:
        self._offers = offers or {}
        self._speeds = {each.gpu_type: each.speed for each in self._offers if each.speed}
        self._nodes = EligibleNodes(nodes)
        self._masks: dict[Constraints, int] = {}

    def admitted(self, job: TrainingJob) -> tuple[str, ...]:
        """The types, by name, whose memory suffices on nodes that the job's template admits.

        Cordons and taints of the kubelet pass, so they do not count.
        """
        least, ref = job.spec.workers.min_memory_per_gpu or 0, job.spec.workload_ref
        found = [each for each in self._within_reach(job) if each.memory_bytes >= least]
        if ref is not None:
            # Its pods ask for one vendor's GPUs already.
            found = [each for each in found if _VENDORS.get(ref.gpu_resource) == each.vendor]
        vendor = min((each.vendor for each in found), default=0)
        return tuple(sorted({each.gpu_type for each in found if each.vendor == vendor}))

    def lacking(self, job: TrainingJob) -> str:
        """The GPU that a job needs for which no type is admitted, in words."""
        least = job.spec.workers.min_memory_per_gpu
        if least is not None and self._within_reach(job):
            return f"GPU of at least {float(least) / _GIBIBYTE:.4g} GiB"
        return "GPU on a node that its template admits"

    def speed(self, gpu_type: str) -> float | None:
        """How fast a GPU of this type is by its published figures, None if none are known."""
        figures = figures_of(gpu_type)
        return figures.speed if figures is not None else self._speeds.get(gpu_type)

    def _within_reach(self, job: TrainingJob) -> list[_Offer]:
        mask = self._mask(job)
        return [each for each, nodes in self._offers.items() if nodes & mask]

    def _mask(self, job: TrainingJob) -> int:
        constraints = template_constraints(job.spec.workers.template)
        if constraints not in self._masks:
            self._masks[constraints] = self._nodes.mask(constraints)
        return self._masks[constraints]


class GpuTypesSeen:
    """The GPU types of a snapshot's nodes: the same object while they are the same."""

    def __init__(self) -> None:
        self._kept = Kept[GpuTypes]()
        self._steady = SteadyNodes()
        self._seen: tuple[object, ...] = ()
        self._types = GpuTypes()

    def of(self, nodes: Sequence[NodeView], pools: Sequence[GPUPool]) -> GpuTypes:
        """The types that these nodes offer, as their pools name them."""
        return self._kept.of(lambda: self._anew(nodes, pools), nodes, pools)

    def _anew(self, views: Sequence[NodeView], pools: Sequence[GPUPool]) -> GpuTypes:
        nodes = self._steady.of(view.node for view in views)
        of_nodes = (_seen(node, view) for node, view in zip(nodes, views, strict=True))
        seen = (tuple((p.metadata.name, p.spec) for p in pools), *of_nodes)
        if seen != self._seen:
            growing = [pool for pool in pools if _may_grow(pool)]
            offers = _with_future(_offers(views, pools), growing, len(nodes))
            self._seen, self._types = seen, GpuTypes((*nodes, *map(_future_node, growing)), offers)
        return self._types


def _seen(node: Node, view: NodeView) -> _Seen:
    return node.metadata.name, node.metadata.labels, node.spec, view.offers


def _offers(views: Sequence[NodeView], pools: Sequence[GPUPool]) -> Offers:
    selectors = Selectors((pool.metadata.name, pool.spec.node_selector) for pool in pools)
    by_name = {pool.metadata.name: pool for pool in pools}
    found: dict[_Offer, int] = {}
    for place, view in enumerate(views):
        names = selectors.matching(view.labels)
        for each in _whole_gpus(view, by_name[names[0]] if names else None):
            found[each] = found.get(each, 0) | 1 << place
    return found


def _may_grow(pool: GPUPool) -> bool:
    """Whether nodes of whole GPUs could be ordered for a pool, by whomever."""
    terms, gpu_type = pool.spec.provisioning, pool.spec.gpu_type
    is_whole = gpu_type is not None and _PARTITION not in gpu_type
    return terms is not None and terms.max > 0 and is_whole


def _future_node(pool: GPUPool) -> Node:
    """What templates meet on a node that is ordered for a pool."""
    labels = {**product_label(pool), **expected_labels(pool)}
    return Node(metadata=NodeMeta(labels=labels), spec=NodeSpec(taints=future_taints(pool)))


def _with_future(offers: Offers, growing: Iterable[GPUPool], first: int) -> Offers:
    """The offers with those of nodes to come, whose places begin with the `first`."""
    vendors, found = {each.gpu_type: each.vendor for each in offers}, dict(offers)
    for place, pool in enumerate(growing, first):
        gpu_type = pool.spec.gpu_type or ""
        figures = figures_of(gpu_type)
        memory, speed = (figures.memory_gib * _GIBIBYTE, figures.speed) if figures else (0, None)
        offer = _Offer(gpu_type, vendors.get(gpu_type, _VENDORS[gpu_resource(pool)]), memory, speed)
        found[offer] = found.get(offer, 0) | 1 << place
    return found


def _whole_gpus(view: NodeView, pool: GPUPool | None) -> Iterator[_Offer]:
    """A node's GPUs that are not partitions."""
    for offer in view.offers:
        vendor = _VENDORS.get(offer.resource)
        if vendor is not None and _PARTITION not in offer.gpu_type:
            figures = _figures(view.labels, offer)
            memory = _memory_bytes(view.labels, figures)
            speed = figures.speed if figures is not None else None
            yield _Offer(gpu_type_of(offer, view, pool), vendor, memory, speed)


def _figures(labels: Labels, offer: Offer) -> GpuFigures | None:
    """What is published of a node's GPUs, under any name that its labels have for them."""
    known = map(figures_of, (offer.gpu_type, *product_names(labels)))
    return next((each for each in known if each is not None), None)


def _memory_bytes(labels: Labels, figures: GpuFigures | None) -> int:
    """The memory of one of a node's GPUs: by its label or as published, the larger; 0 if unknown.

    Drivers keep a part, so that a GPU sold with 80 GiB reports a little less.
    """
    reported = (whole_number(labels.get("nvidia.com/gpu.memory", "")) or 0) * _MEBIBYTE
    return max(reported, figures.memory_gib * _GIBIBYTE if figures is not None else 0)
