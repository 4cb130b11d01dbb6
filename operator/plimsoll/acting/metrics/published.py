"""Gauges whose series come and go with what they are about."""

from collections.abc import Mapping

from prometheus_client import Gauge

Labels = tuple[str, ...]


class Published:
    """The series of a gauge; whoever reads them meanwhile never misses one that stays."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._labels = frozenset[Labels]()

    def publish(self, values: Mapping[Labels, float]) -> None:
        """Set the value of each series, and drop the others."""
        for labels, value in values.items():
            self._gauge.labels(*labels).set(value)
        gone, self._labels = self._labels - values.keys(), frozenset(values)
        for labels in gone:
            self._gauge.remove(*labels)
