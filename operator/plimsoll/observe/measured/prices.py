"""What nodes cost, and the pools with those prices. How prices are read is in `signals`."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from plimsoll.api.gpu_pool import GPUPool

INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"
_ZONE_OF_REGION: Final = re.compile(r"-?[a-z0-9]")
"""What zones add to the names of their regions: us-east-1a, eastus-1, us-central1-a."""
_DIGITS: Final = 6
_MOST: Final = Decimal(10**12)


@dataclass(frozen=True, slots=True)
class NodePrice:
    """The price of a node-hour of an instance type and capacity type (`OnDemand`, `Spot`...).

    It holds in a zone, a region, or, if both are "", anywhere. One that an administrator has stated
    goes before estimates.
    """

    instance_type: str
    capacity_type: str
    price: Decimal
    zone: str = ""
    region: str = ""
    stated: bool = False


@dataclass(frozen=True, slots=True)
class NodePrices:
    """All that is known. Unless it is `complete`, other pools keep the prices of their statuses."""

    known: tuple[NodePrice, ...] = ()
    complete: bool = True


NO_PRICES: Final = NodePrices()


def priced(pools: Iterable[GPUPool], prices: NodePrices) -> tuple[GPUPool, ...]:
    """The pools; those that state no price have that of their nodes, if it is known."""
    return tuple(_priced(pool, prices) for pool in pools)


def instance_types(pools: Iterable[GPUPool]) -> frozenset[str]:
    """The instance types of pools that state no price."""
    found = (_named(pool, INSTANCE_TYPE) for pool in pools if not pool.spec.price_per_gpu_hour)
    return frozenset(name for name in found if name)


def _priced(pool: GPUPool, prices: NodePrices) -> GPUPool:
    if pool.spec.price_per_gpu_hour:
        return pool
    price = _price_of(pool, prices.known)
    if price is None and not prices.complete:
        price = _last_known(pool)
    if not price:
        return pool
    return pool.model_copy(
        update={"spec": pool.spec.model_copy(update={"price_per_gpu_hour": price})}
    )


def _last_known(pool: GPUPool) -> Decimal | None:
    said = pool.status.provisioning
    return None if said is None else said.price_per_gpu_hour


def _price_of(pool: GPUPool, prices: Iterable[NodePrice]) -> Decimal | None:
    """The price of a GPU-hour, by the most specific price that holds for the pool's nodes."""
    name, gpus = _named(pool, INSTANCE_TYPE), pool.spec.gpus_per_node
    if not name or gpus is None:
        return None
    zone, region = _named(pool, _ZONE), _named(pool, _REGION)
    found = [
        each
        for each in prices
        if (each.instance_type, each.capacity_type) == (name, pool.spec.capacity_type)
        and _holds(each, zone, region)
    ]
    best = max(found, key=_precedence, default=None)
    return None if best is None else round(min(best.price, _MOST) / gpus, _DIGITS)


def _precedence(price: NodePrice) -> tuple[bool, bool, bool]:
    return price.stated, bool(price.zone), bool(price.region)


def _holds(price: NodePrice, zone: str, region: str) -> bool:
    is_there = price.zone in ("", zone)
    return is_there and (price.region in ("", region) or _is_in(zone, price.region))


def _is_in(zone: str, region: str) -> bool:
    return zone.startswith(region) and bool(_ZONE_OF_REGION.fullmatch(zone[len(region) :]))


def _named(pool: GPUPool, key: str) -> str:
    """The one value of a label that the pool's nodes have; "" if it names none or several."""
    values = {*_values(pool, key)}
    return values.pop() if len(values) == 1 else ""


def _values(pool: GPUPool, key: str) -> Iterator[str]:
    if key in pool.spec.node_selector:
        yield pool.spec.node_selector[key]
    terms = pool.spec.provisioning
    template = None if terms is None else terms.node_claim
    for each in template.spec.requirements if template else ():
        if each.key == key and each.operator == "In":
            yield from each.values
