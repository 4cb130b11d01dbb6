"""All Prometheus measurements: broken GPUs, loads, power, the energy signal, and node prices."""

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.measured.demand import JobDemand
from plimsoll.observe.measured.energy import EnergyReading
from plimsoll.observe.measured.gpu_faults import GpuFault
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.measured.prices import NodePrice
from plimsoll.observe.snapshot import Snapshot
from plimsoll.settings import Settings
from plimsoll.signals.energy_watch import EnergyWatch
from plimsoll.signals.exporters import Exporters, listed
from plimsoll.signals.fault_watch import FaultWatch
from plimsoll.signals.load.load_watch import LoadTerms, LoadWatch, Services
from plimsoll.signals.load.rotation import AT_ONCE
from plimsoll.signals.offering_prices import OfferingPrices
from plimsoll.signals.power_watch import PowerWatch
from plimsoll.signals.prometheus.connection import ConnectionTerms
from plimsoll.signals.prometheus.prometheus import Prometheus
from plimsoll.supervision import Part

MOST_BYTES: Final = 16 << 20
"""The largest result of a user's query: two weeks of fifty sizes."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The current measurements; empty without a Prometheus."""

    gpu_faults: tuple[GpuFault, ...] = ()
    demands: tuple[JobDemand, ...] = ()
    power: PowerReading | None = None
    energy: EnergyReading | None = None
    prices: tuple[NodePrice, ...] | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What to measure, and for whom.

    `latest` is the latest snapshot, `pools` are those that there are, `changed` is called after
    urgent news, and `services_known` returns once `services` are complete. `node_of` returns the
    node of a pod, by its namespace and name.
    """

    services: Services
    latest: Callable[[], Snapshot | None]
    pools: Callable[[], Iterable[GPUPool]]
    changed: Callable[[], None]
    leads: Callable[[], bool]
    services_known: Callable[[], Coroutine[Any, Any, None]]
    node_of: Callable[[str, str], str | None]


class Measurements:
    """Queries while its `parts` run."""

    def __init__(self, settings: Settings, scope: Scope) -> None:
        self._scope = scope
        terms = _terms(settings)
        self._prometheus = prometheus = Prometheus(terms)
        # Users' queries must not delay those of power and faults, so they have threads of their
        # own.
        self._of_users = Prometheus(replace(terms, most_bytes=MOST_BYTES), threads=AT_ONCE)
        matchers, seconds = settings.prometheus_matchers, settings.prometheus_seconds
        exporters = Exporters(
            listed(settings.exporter_namespaces),
            listed(settings.exporter_jobs),
            scope.node_of,
            matchers,
        )
        self._faults = FaultWatch(prometheus, scope.changed, seconds=seconds, exporters=exporters)
        self._loads = LoadWatch(
            self._of_users,
            scope.services,
            scope.changed,
            terms=LoadTerms(settings.load_seconds, settings.load_window_seconds, matchers),
        )
        self._power = PowerWatch(
            prometheus,
            scope.latest,
            scope.changed,
            seconds=settings.power_seconds,
            exporters=exporters,
        )
        self._energy = EnergyWatch(prometheus, scope.latest, seconds=seconds)
        self._prices = OfferingPrices(
            prometheus, scope.pools, seconds=seconds, matchers=exporters.matchers
        )

    def current(self, now: datetime) -> Measured:
        """The latest measurements that are still valid."""
        return Measured(
            gpu_faults=self._faults.current(),
            demands=self._loads.current(),
            power=self._power.current(now),
            energy=self._energy.current(now),
            prices=self._prices.current(),
        )

    def parts(self) -> list[Part]:
        """What queries while it runs."""
        return [
            Part("faults", self._faults.run),
            Part("power", self._power.run),
            Part("energy", self._energy.run),
            Part("node prices", self._prices.run),
            Part("loads", self._measure_loads),
        ]

    async def _measure_loads(self) -> None:
        """Query the load of services whenever this replica leads and knows them."""
        await self._scope.services_known()
        await self._loads.run(self._scope.leads)

    def close(self) -> None:
        """Stop querying."""
        self._prometheus.close()
        self._of_users.close()


def _terms(settings: Settings) -> ConnectionTerms:
    return ConnectionTerms(
        url=settings.prometheus_url,
        token_file=settings.prometheus_token_file,
        username_file=settings.prometheus_username_file,
        password_file=settings.prometheus_password_file,
        ca_file=settings.prometheus_ca_file,
        insecure=settings.prometheus_insecure,
        timeout_seconds=settings.prometheus_timeout_seconds,
    )
