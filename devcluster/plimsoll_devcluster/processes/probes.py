"""The probes and metrics of one of our programs, over HTTP."""

from collections.abc import Callable

import urllib3
from prometheus_client.parser import text_string_to_metric_families

PATIENCE_SECONDS = 10


class Probes:
    """Queries a program at the host and port that `address` returns at that time.

    A response may take `seconds`.
    """

    def __init__(self, address: Callable[[], str], seconds: float = PATIENCE_SECONDS) -> None:
        self._address = address
        self._http = urllib3.PoolManager(retries=False, timeout=seconds)

    def probe(self, path: str) -> tuple[int, str]:
        """Its response at /healthz, /readyz or /metrics: status and text."""
        answer = self._http.request("GET", f"http://{self._address()}{path}")
        return answer.status, answer.data.decode()

    def metric(self, name: str, /, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels; 0 without any."""
        return metric_in(self.probe("/metrics")[1], name, **labels)


def metric_in(text: str, name: str, /, **labels: str) -> float:
    """The sum of the samples with that name and these labels in a program's metrics."""
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )
