"""Which metrics the console shows.

It runs code of the operator, whose metrics are thereby there too, most of them at 0: next to the
operator's own they would say that there is no leader, or no gap.
"""

from collections.abc import Iterable
from typing import Final

from prometheus_client import Metric
from prometheus_client.registry import Collector

_OWN: Final = (
    "plimsoll_api_",
    "plimsoll_console_",
    "plimsoll_ledger_",
    "plimsoll_part_",
    "plimsoll_token_reviews",
    "plimsoll_unread_objects",
    "plimsoll_watch",
    "process_",
    "python_",
)


class OwnMetrics(Collector):
    """Those metrics of a registry that are about the console."""

    def __init__(self, registry: Collector) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        """The metrics."""
        return (each for each in self._registry.collect() if each.name.startswith(_OWN))
