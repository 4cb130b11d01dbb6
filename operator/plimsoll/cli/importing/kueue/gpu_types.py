"""Tell which GPU type a quota in a flavor counts.

The flavor's nodes tell, if they are known; otherwise its labels, if they name the product as GPU
Feature Discovery and the clouds do. Failing both, the flavor's pool names its GPUs after the
flavor, which is a type like any other.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from plimsoll.kube.objects.objects import Labels, Node, NodeMeta, NodeStatus
from plimsoll.observe.nodes.gpus import Offer, gpu_offers
from plimsoll_placement.model import WHOLE_GPU_MILLI

_MANY: Final = 1024
_UNKNOWN: Final = re.compile(r"unknown-(nvidia|amd)-gpu.*")
_TYPE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Counted:
    """The GPU types that a quota may count, none if unknown, and the GPUs of one unit.

    `is_named` if the pool has to name the type, since its nodes' labels do not.
    """

    types: tuple[str, ...] = ()
    gpus_per_unit: Decimal = Decimal(1)
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class GpuTypes:
    """Finds the types, by what the user says, by the nodes, or by labels."""

    said: Mapping[str, str]
    nodes: Sequence[Node]

    def of(self, flavor: str, labels: Labels, resource: str) -> Counted:
        """What a quota of a GPU resource in a flavor counts."""
        offers = [*self._offers(labels, resource)]
        share = Decimal(min((each.share_milli for each in offers), default=WHOLE_GPU_MILLI))
        per_unit = share / WHOLE_GPU_MILLI
        if flavor in self.said:
            return Counted((self.said[flavor],), per_unit, is_named=True)
        types = sorted({each.gpu_type for each in offers if not _UNKNOWN.match(each.gpu_type)})
        if types:
            return Counted(tuple(types), per_unit)
        named = bool(labels) and _TYPE.fullmatch(flavor) is not None
        return Counted((flavor,) if named else (), per_unit, is_named=named)

    def _offers(self, labels: Labels, resource: str) -> Iterable[Offer]:
        """What the flavor's nodes offer of a resource, or a node with just its labels would."""
        there = [node for node in self.nodes if labels.items() <= node.metadata.labels.items()]
        found = [offer for node in there for offer in gpu_offers(node)]
        of_it = [offer for offer in found if offer.resource == resource]
        return of_it or gpu_offers(_imagined(labels, resource))


def _imagined(labels: Labels, resource: str) -> Node:
    return Node(metadata=NodeMeta(labels=labels), status=NodeStatus(allocatable={resource: _MANY}))
