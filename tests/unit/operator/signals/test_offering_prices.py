"""What Karpenter estimates nodes to cost is asked for the instance types that pools name."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.measured.prices import NodePrice
from plimsoll.signals.offering_prices import METRIC, OfferingPrices
from plimsoll.signals.prometheus.connection import ConnectionTerms
from plimsoll.signals.prometheus.prometheus import Prometheus
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen
from support.objects.bought_nodes import a_typed_pool
from support.programs.asynchronous import asynchronous
from support.servers.misbehaving_prometheus import misbehaving_prometheus

TYPE = "p5.48xlarge"


def pools(*manifests: Manifest) -> tuple[GPUPool, ...]:
    return tuple(seen(*manifests).pools)


def says(*prices: tuple[str, str, str]) -> bytes:
    """An answer with the price, capacity type and zone of each offering."""
    now = datetime.now(UTC).timestamp()
    result = [
        {
            "metric": {"instance_type": TYPE, "capacity_type": option, "zone": zone},
            "value": [now, price],
        }
        for price, option, zone in prices
    ]
    return json.dumps({"data": {"result": result}}).encode()


@asynchronous
async def test_each_usable_estimate_is_taken_and_the_last_stay_in_force() -> None:
    unpriced = pools(a_typed_pool("h100", TYPE), a_typed_pool("b", "g6.xlarge", price="1"))
    with misbehaving_prometheus() as behaviour:
        behaviour.body = says(
            ("55.04", "on-demand", "us-east-1a"),
            ("20.5", "spot", "us-east-1a"),
            ("NaN", "spot", "us-east-1b"),
            ("-1", "spot", "us-east-1c"),
            ("0", "spot", "us-east-1d"),
            ("7", "elsewhere", "us-east-1a"),
        )
        prometheus = Prometheus(ConnectionTerms(behaviour.url))
        prices = OfferingPrices(prometheus, lambda: unpriced, seconds=30, matchers='job="k"')
        assert prices.current() is None
        await prices.look()
        found = prices.current()
        behaviour.status = 503
        await prices.look()
        prometheus.close()
    assert found == prices.current()
    assert found == (
        NodePrice(TYPE, "OnDemand", Decimal("55.04"), zone="us-east-1a"),
        NodePrice(TYPE, "Spot", Decimal("20.5"), zone="us-east-1a"),
    )
    asked = parse_qs(urlsplit(behaviour.paths[0]).query)["query"]
    only = f'{METRIC}{{instance_type=~"p5[.]48xlarge", job="k"}}'
    assert asked == [f"max by (instance_type, capacity_type, zone) ({only})"]


@asynchronous
async def test_nothing_is_asked_where_all_pools_state_their_price_or_name_no_type() -> None:
    stated = pools(a_typed_pool("h100", TYPE, price="1"), a_typed_pool("any", ""))
    with misbehaving_prometheus() as behaviour:
        prometheus = Prometheus(ConnectionTerms(behaviour.url))
        prices = OfferingPrices(prometheus, lambda: stated, seconds=30)
        await prices.look()
        prometheus.close()
        assert behaviour.paths == []
