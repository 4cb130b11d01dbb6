"""Pools that state no price have that of their nodes, by the most specific price that is known."""

from dataclasses import replace
from decimal import Decimal

import pytest

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.measured.prices import NO_PRICES, NodePrice, NodePrices, priced
from plimsoll.observe.observer import Observer
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, objects_of, seen
from support.objects.bought_nodes import a_growing_pool, a_typed_pool
from support.objects.manifests import edited

TYPE = "p5.48xlarge"
ANYWHERE = NodePrice(TYPE, "OnDemand", Decimal(80))
IN_REGION = NodePrice(TYPE, "OnDemand", Decimal(64), region="us-east-1")
IN_ZONE = NodePrice(TYPE, "OnDemand", Decimal("55.04"), zone="us-east-1a")
STATED = NodePrice(TYPE, "OnDemand", Decimal(40), stated=True)
SPOT = NodePrice(TYPE, "Spot", Decimal(24))
ALL = (ANYWHERE, IN_ZONE, IN_REGION, SPOT)


def price_of(pool: Manifest, *prices: NodePrice, complete: bool = True) -> Decimal:
    (found,) = priced(seen(pool).pools, NodePrices(prices, complete))
    return found.spec.price_per_gpu_hour


@pytest.mark.parametrize(
    ("where", "price"),
    [
        ({"zone": "us-east-1a"}, "6.88"),
        ({"zone": "us-east-1b"}, "8"),
        ({"region": "us-east-1"}, "8"),
        ({"zone": "us-east-2a"}, "10"),
        ({"zone": "us-east-1-bos-1a"}, "10"),
        ({"zone": "a"}, "10"),
        ({}, "10"),
        ({"zone": "us-east-1a", "capacityType": "Spot"}, "3"),
        ({"zone": "us-east-1a", "capacityType": "Reserved"}, "0"),
        ({"zone": "us-east-1a", "price": "9"}, "9"),
    ],
)
def test_the_most_specific_price_holds(where: dict[str, str], price: str) -> None:
    assert price_of(a_typed_pool("pool", TYPE, **where), *ALL) == Decimal(price)


def test_a_stated_price_goes_before_an_estimate() -> None:
    assert price_of(a_typed_pool("pool", TYPE, zone="us-east-1a"), *ALL, STATED) == 5


def test_zones_of_other_clouds_are_in_their_regions() -> None:
    for region, zone in (("eastus", "eastus-1"), ("us-central1", "us-central1-a")):
        price = NodePrice(TYPE, "OnDemand", Decimal(8), region=region)
        assert price_of(a_typed_pool("pool", TYPE, zone=zone), price) == 1
    east = NodePrice(TYPE, "OnDemand", Decimal(8), region="eastus")
    assert price_of(a_typed_pool("pool", TYPE, zone="eastus2-1"), east) == 0


def test_a_pool_that_names_no_type_or_several_has_no_price_but_its_own() -> None:
    assert price_of(a_growing_pool(price="0"), ANYWHERE) == 0
    two = a_typed_pool("pool", TYPE)
    two["spec"]["provisioning"]["nodeClaim"]["spec"]["requirements"][0]["values"].append("other")
    assert price_of(two, ANYWHERE) == 0
    labelled = a_growing_pool(price="0")
    labelled["spec"]["nodeSelector"] = {"node.kubernetes.io/instance-type": TYPE}
    assert price_of(labelled, ANYWHERE) == 10


def test_while_prices_are_not_all_known_that_of_the_status_stands() -> None:
    pool = edited(
        a_typed_pool("pool", TYPE), {"status": {"provisioning": {"pricePerGPUHour": "7"}}}
    )
    assert price_of(pool, complete=False) == 7
    assert price_of(pool, ANYWHERE, complete=False) == 10
    assert price_of(pool) == 0


def test_a_change_of_price_is_seen_and_what_is_unchanged_stays_the_same_object() -> None:
    observer, objects = Observer(), objects_of(a_typed_pool("pool", TYPE))

    def pool(prices: NodePrices) -> GPUPool:
        return observer.snapshot(replace(objects, prices=prices), NOW).pools[0]

    known = NodePrices((ANYWHERE,))
    first, again, other = pool(known), pool(known), pool(NodePrices((IN_REGION, STATED)))
    assert first is again
    assert (first.spec.price_per_gpu_hour, other.spec.price_per_gpu_hour) == (10, 5)
    assert pool(NO_PRICES).spec.price_per_gpu_hour == 0


def test_a_price_without_measure_is_cut() -> None:
    most = NodePrice(TYPE, "OnDemand", Decimal("9E30"))
    assert price_of(a_typed_pool("pool", TYPE), most) == Decimal(10**12) / 8
