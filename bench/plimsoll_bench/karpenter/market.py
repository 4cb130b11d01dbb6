"""The instances that can be bought, and how each side is told of them.

Both are told the same: an owner's NodePool with every offer, and a GPUPool for each offer. How many
the cloud has of one can be fewer than its quota; only a launch shows that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plimsoll_devcluster.fake_nodes import CAPACITY_TYPE, ZONE
from plimsoll_devcluster.karpenter.instance_types import (
    EIGHT_A100,
    EIGHT_H100,
    INSTANCE_TYPES,
    ON_DEMAND,
    SPOT,
    InstanceType,
    requirement,
)
from plimsoll_devcluster.karpenter.process import Limit
from plimsoll_devcluster.manifest import Manifest
from support.clusters.bought_nodes import a_pool_of
from support.objects.karpenter import INSTANCE_TYPE, a_node_pool

WHERE = "zone-a"
_OPTIONS = {ON_DEMAND: "OnDemand", SPOT: "Spot"}


@dataclass(frozen=True, slots=True)
class Offer:
    """An instance type as a capacity type: at most so many by quota, and so many that there are."""

    instance_type: InstanceType
    capacity_type: str
    quota: int
    there: int

    @property
    def name(self) -> str:
        """The GPUPool's name."""
        family = self.instance_type.name.partition(".")[0]
        return f"{family}-{self.capacity_type}"

    @property
    def dollars_per_hour(self) -> float:
        """The price of an instance."""
        return self.instance_type.prices()[WHERE, self.capacity_type]


OFFERS = (
    Offer(EIGHT_A100, SPOT, quota=6, there=3),
    Offer(EIGHT_A100, ON_DEMAND, quota=6, there=6),
    Offer(EIGHT_H100, SPOT, quota=3, there=3),
    Offer(EIGHT_H100, ON_DEMAND, quota=5, there=5),
)
MOST_NODES = sum(offer.there for offer in OFFERS)


def limits() -> list[Limit]:
    """How scarce the cloud is."""
    return [
        Limit(offer.there, offer.instance_type.name, WHERE, offer.capacity_type) for offer in OFFERS
    ]


def price_of(labels: Mapping[str, str]) -> float:
    """Dollars an hour of a launched NodeClaim, by its labels."""
    (found,) = (each for each in INSTANCE_TYPES if each.name == labels[INSTANCE_TYPE])
    return found.prices()[labels[ZONE], labels[CAPACITY_TYPE]]


def node_pool(idle_seconds: int) -> Manifest:
    """Karpenter's NodePool: the cheapest offer that is left, and no more nodes than there are."""
    pool = a_node_pool(
        "gangs",
        EIGHT_A100,
        consolidationPolicy="WhenEmpty",
        consolidateAfter=f"{idle_seconds}s",
        budgets=[{"nodes": "100%"}],
    )
    pool["spec"]["template"]["spec"]["requirements"] = [
        requirement(INSTANCE_TYPE, *_distinct(offer.instance_type.name for offer in OFFERS)),
        requirement(CAPACITY_TYPE, *_distinct(offer.capacity_type for offer in OFFERS)),
        requirement(ZONE, WHERE),
    ]
    gpus = sum(offer.there * offer.instance_type.gpus for offer in OFFERS)
    pool["spec"]["limits"] = {"nvidia.com/gpu": str(gpus)}
    return pool


def gpu_pools(idle_seconds: int, boot_seconds: int) -> list[Manifest]:
    """Plimsoll's GPUPools."""
    return [
        a_pool_of(
            offer.name,
            offer.instance_type,
            most=offer.quota,
            zone=WHERE,
            option=_OPTIONS[offer.capacity_type],
            price=f"{offer.dollars_per_hour / offer.instance_type.gpus:.6f}",
            idleTime=f"{idle_seconds}s",
            startTime=f"{max(boot_seconds, 1)}s",
        )
        for offer in OFFERS
    ]


def _distinct(names: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(names)
