"""A service that queues and serves requests in real time, on pods that exist only as objects.

Requests come at a rate that changes with time, wait in one queue, and each ready pod serves a few
at once. It reports its metrics as vLLM does, and also how many requests were quick enough.
"""

import heapq
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
Rate = Callable[[float], float]
"""Requests per second at this many seconds from the beginning."""


@dataclass(frozen=True, slots=True)
class ServiceTerms:
    """What a pod does: `slots` requests at once, each for `mean_seconds` on average.

    `first_token_seconds` is the time to the first token once a request is being served; within
    `promised_seconds` of its arrival the request is in time.
    """

    slots: int = 8
    mean_seconds: float = 0.4
    first_token_seconds: float = 0.1
    promised_seconds: float = 0.5

    @property
    def requests_per_second(self) -> float:
        """What a pod carries at most."""
        return self.slots / self.mean_seconds


@dataclass(slots=True)
class _Pod:
    """Requests being served, by when they end; what was served; times to the first token."""

    ends: list[float] = field(default_factory=list[float])
    served: int = 0
    first_tokens: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    first_token_seconds: float = 0.0


@dataclass(slots=True)
class Totals:
    """The result: requests, those in time, seconds that pods were held."""

    requests: int = 0
    in_time: int = 0
    dropped: int = 0
    replica_seconds: float = 0.0
    needed_seconds: float = 0.0


class LiveService(Collector):
    """One service. `advance` it as time passes; threads may read its metrics meanwhile."""

    def __init__(
        self, namespace: str, name: str, rate: Rate, terms: ServiceTerms, seed: int
    ) -> None:
        self.totals = Totals()
        self.name = name
        self._namespace = namespace
        self._rate, self._terms, self._random = rate, terms, random.Random(seed)
        self._now = 0.0
        self._next_arrival = 0.0
        self._arrived = 0
        self._queue: deque[float] = deque()
        self._pods: dict[str, _Pod] = {}
        self._lock = threading.Lock()

    def advance(self, now: float, ready: Iterable[str], held: Iterable[str]) -> None:
        """Serve until `now`; `held` are the existing pods, `ready` those that get new requests."""
        with self._lock:
            ready, held = set(ready), set(held)
            for name in self._pods.keys() - held:
                self.totals.dropped += len(self._pods.pop(name).ends)
            for name in held - self._pods.keys():
                self._pods[name] = _Pod()
            self._count(now, len(held))
            while self._next_event(ready) <= now:
                self._step(ready)
            self._now = now

    def _count(self, now: float, held: int) -> None:
        needed = -(-self._rate(now) // self._terms.requests_per_second)
        self.totals.replica_seconds += held * (now - self._now)
        self.totals.needed_seconds += needed * (now - self._now)

    def _next_event(self, ready: set[str]) -> float:
        ends = [pod.ends[0] for pod in self._pods.values() if pod.ends]
        can_serve = self._queue and any(self._free(name) for name in ready)
        return self._now if can_serve else min([self._next_arrival, *ends])

    def _step(self, ready: set[str]) -> None:
        self._now = max(self._now, self._next_event(ready))
        for pod in self._pods.values():
            while pod.ends and pod.ends[0] <= self._now:
                heapq.heappop(pod.ends)
                pod.served += 1
        while self._next_arrival <= self._now:
            self._arrive()
        self._serve(ready)

    def _arrive(self) -> None:
        """Add a request and draw the time of the next."""
        if self._rate(self._next_arrival) > 0:
            self._queue.append(self._next_arrival)
            self._arrived += 1
        rate = max(self._rate(self._next_arrival), 1.0)
        self._next_arrival += self._random.expovariate(rate)

    def _serve(self, ready: set[str]) -> None:
        while self._queue:
            name = max(sorted(ready), key=self._free, default=None)
            if name is None or not self._free(name):
                return
            self._begin(self._pods[name], self._queue.popleft())

    def _free(self, name: str) -> int:
        pod = self._pods.get(name)
        return self._terms.slots - len(pod.ends) if pod else 0

    def _begin(self, pod: _Pod, arrived: float) -> None:
        terms, totals = self._terms, self.totals
        took = self._now - arrived + terms.first_token_seconds
        heapq.heappush(pod.ends, self._now + self._random.expovariate(1 / terms.mean_seconds))
        pod.first_tokens[sum(took > bound for bound in BUCKETS)] += 1
        pod.first_token_seconds += took
        totals.requests += 1
        totals.in_time += took <= terms.promised_seconds

    def collect(self) -> Iterator[Metric]:
        """The metrics by pod, and the requests that came, as a gateway counts them."""
        with self._lock:
            came = CounterMetricFamily(
                "gateway_requests", "Requests that came.", labels=["service"]
            )
            came.add_metric([self.name], self._arrived)
            yield came
            yield from self._pod_metrics()

    def _pod_metrics(self) -> Iterator[Metric]:
        labels = ["namespace", "pod"]
        running = GaugeMetricFamily("vllm:num_requests_running", "Served.", labels=labels)
        waiting = GaugeMetricFamily("vllm:num_requests_waiting", "Queued.", labels=labels)
        done = CounterMetricFamily("vllm:request_success", "Done.", labels=labels)
        first = HistogramMetricFamily("vllm:time_to_first_token_seconds", "First.", labels=labels)
        for name, pod in self._pods.items():
            values = [self._namespace, name]
            running.add_metric(values, len(pod.ends))
            waiting.add_metric(values, len(self._queue) / len(self._pods))
            done.add_metric(values, pod.served)
            first.add_metric(values, _cumulative(pod.first_tokens), pod.first_token_seconds)
        yield from (running, waiting, done, first)


def _cumulative(counts: list[int]) -> list[tuple[str, float]]:
    bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
    return [(bound, float(sum(counts[: i + 1]))) for i, bound in enumerate(bounds)]
