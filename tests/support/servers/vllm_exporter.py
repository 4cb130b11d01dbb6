"""An exporter of vLLM's metrics without vLLM: real HTTP, counters that grow as a test sets them."""

import math
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

LABELS = ("namespace", "pod")
FAST, SLOW = "0.5", "2.0"
"""Bounds of the seconds to the first token."""


@dataclass
class Replica:
    """What one replica does: requests a second, how many wait, and the share that is fast."""

    rate: float = 0.0
    running: float = 0.0
    waiting: float = 0.0
    fast: float = 1.0
    answered: float = 0.0
    answered_fast: float = 0.0

    def go_on(self, seconds: float) -> None:
        """Let time pass."""
        self.answered += self.rate * seconds
        self.answered_fast += self.rate * seconds * self.fast


class VllmExporter(Collector):
    """The replicas of all pods; each pod has labels of its own, as Prometheus would give it."""

    def __init__(self) -> None:
        self.address = ""
        self._replicas: dict[tuple[str, str], Replica] = {}
        self._at = time.monotonic()

    def report(self, namespace: str, pod: str, **does: float) -> None:
        """Let a pod's replica do this from now on, and as before what is not named."""
        self._go_on()
        replica = self._replicas.setdefault((namespace, pod), Replica())
        for name, value in does.items():
            setattr(replica, name, value)

    def forget(self, namespace: str, pod: str) -> None:
        """Let a pod be gone."""
        self._replicas.pop((namespace, pod), None)

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now."""
        self._go_on()
        answered = CounterMetricFamily(
            "vllm:request_success", "Answered.", labels=(*LABELS, "finished_reason")
        )
        running = GaugeMetricFamily("vllm:num_requests_running", "Run.", labels=LABELS)
        waiting = GaugeMetricFamily("vllm:num_requests_waiting", "Wait.", labels=LABELS)
        first = HistogramMetricFamily("vllm:time_to_first_token_seconds", "TTFT.", labels=LABELS)
        for pod, replica in list(self._replicas.items()):
            answered.add_metric((*pod, "stop"), replica.answered)
            running.add_metric(pod, replica.running)
            waiting.add_metric(pod, replica.waiting)
            counts = (replica.answered_fast, replica.answered, replica.answered)
            bounds = (FAST, SLOW, "+Inf")
            first.add_metric(pod, list(zip(bounds, counts, strict=True)), sum_value=math.nan)
        return iter((answered, running, waiting, first))

    def _go_on(self) -> None:
        now = time.monotonic()
        for replica in self._replicas.values():
            replica.go_on(now - self._at)
        self._at = now


@contextmanager
def vllm_exporter() -> Generator[VllmExporter]:
    """Serve on loopback until the block ends."""
    registry, exporter = CollectorRegistry(), VllmExporter()
    registry.register(exporter)
    server, thread = start_http_server(0, "127.0.0.1", registry=registry)
    exporter.address = f"127.0.0.1:{server.server_port}"
    try:
        yield exporter
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
