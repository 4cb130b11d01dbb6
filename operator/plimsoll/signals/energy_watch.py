"""Query the energy signal from Prometheus at intervals; a reading expires after a while.

How long an expired value's effect lasts is decided elsewhere.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from plimsoll.api.placement_policy import EnergySignal
from plimsoll.clock import repeat
from plimsoll.observe.measured.energy import EnergyReading
from plimsoll.observe.measured.sample import Query, only_value
from plimsoll.observe.snapshot import Snapshot
from plimsoll.signals.prometheus.prometheus import Prometheus

STALE_AFTER: Final = 3
"""A reading expires after this many intervals."""
MOST: Final = 1e9
"""Prices and intensities are smaller, in any unit."""


class EnergyWatch:
    """Queries at a fixed interval while `run` runs.

    `latest` is the latest snapshot: without a signal in its policy nothing is queried.
    """

    def __init__(
        self, prometheus: Prometheus, latest: Callable[[], Snapshot | None], *, seconds: int
    ) -> None:
        self._prometheus = prometheus
        self._latest = latest
        self._seconds = seconds
        self._fresh = timedelta(seconds=STALE_AFTER * seconds)
        self._reading: EnergyReading | None = None

    def current(self, now: datetime) -> EnergyReading:
        """The current energy signal; None if expired or not queried yet."""
        reading = self._reading
        if reading is None:
            return EnergyReading(now, problem="not measured yet")
        if now - reading.measured_at <= self._fresh:
            return reading
        said = f"Prometheus has not answered for {self._fresh.total_seconds():.0f} s"
        return EnergyReading(reading.measured_at, reading.query, problem=said)

    async def run(self) -> NoReturn:
        """Query until cancelled."""
        await repeat(lambda: self.look(datetime.now(UTC)), self._seconds)

    async def look(self, now: datetime) -> None:
        """Query once."""
        signal = _signal(self._latest())
        if signal is None:
            self._reading = None
            return
        answer = await self._prometheus.now(Query("energy_signal", signal.query, -MOST, MOST))
        found = only_value(answer, "energySignal")
        if isinstance(found, str):
            self._reading = EnergyReading(now, signal.query, problem=found)
        else:
            self._reading = EnergyReading(now, signal.query, found)


def _signal(snapshot: Snapshot | None) -> EnergySignal | None:
    if snapshot is None or snapshot.policy is None:
        return None
    return snapshot.policy.spec.objective.energy_signal
