"""Query what nodes cost by Karpenter's estimates, for the instance types that pools name.

Karpenter's providers export them where they know prices, spot ones by zone; only series of trusted
exporters count. If Prometheus does not answer, the last stay in force.
"""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Final, NoReturn

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.clock import repeat
from plimsoll.kube.objects.node_claim import CAPACITY_TYPES
from plimsoll.observe.measured.prices import NodePrice, instance_types
from plimsoll.observe.measured.sample import NoResult, Query, Sample
from plimsoll.signals.prometheus import promql
from plimsoll.signals.prometheus.prometheus import Prometheus

METRIC: Final = "karpenter_cloudprovider_instance_type_offering_price_estimate"
MOST: Final = 1e6
"""No node costs more an hour, in any currency."""
_LABELS: Final = "instance_type, capacity_type, zone"
_OPTIONS: Final = {name: option for option, name in CAPACITY_TYPES.items()}
_DIGITS: Final = 6


class OfferingPrices:
    """Queries at a fixed interval while `run` runs, and only for pools that state no price."""

    def __init__(
        self,
        prometheus: Prometheus,
        pools: Callable[[], Iterable[GPUPool]],
        *,
        seconds: int,
        matchers: str = "",
    ) -> None:
        self._prometheus, self._pools, self._seconds = prometheus, pools, seconds
        self._matchers = f", {matchers}" if matchers else ""
        self._prices: tuple[NodePrice, ...] | None = None

    def current(self) -> tuple[NodePrice, ...] | None:
        """The prices as last answered; None if they never were."""
        return self._prices

    async def run(self) -> NoReturn:
        """Query until cancelled."""
        await repeat(self.look, self._seconds)

    async def look(self) -> None:
        """Query once."""
        names = sorted(instance_types(self._pools()))
        if not names:
            return
        answer = await self._prometheus.now(self._query(names))
        if isinstance(answer, NoResult):
            return
        found = tuple(_prices(answer.samples))
        if found != self._prices:
            self._prices = found

    def _query(self, names: Iterable[str]) -> Query:
        any_of = "|".join(map(promql.pattern, names))
        series = f'{METRIC}{{instance_type=~"{any_of}"{self._matchers}}}'
        return Query("node_prices", f"max by ({_LABELS}) ({series})", least=0, most=MOST)


def _prices(samples: Iterable[Sample]) -> Iterator[NodePrice]:
    for each in samples:
        labels, price = each.labels, Decimal(str(round(each.value, _DIGITS)))
        option = _OPTIONS.get(labels.get("capacity_type", ""))
        if option is not None and price:
            name = labels.get("instance_type", "")
            yield NodePrice(name, option, price, zone=labels.get("zone", ""))
