"""GPUs that draw by what runs on their nodes and keep to caps, without GPUs: real HTTP.

It is NVIDIA's exporter and the agents of all nodes in one: it looks at the nodes' annotations and
pods, limits what they draw, writes what it has set, and reports the watts of each GPU and whose pod
has it.
"""

import math
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import NODES
from plimsoll_devcluster.histories.world import gpus_of
from plimsoll_devcluster.manifest import Manifest

CAP = "plimsoll.dev/power-cap-watts"
LIMIT = "plimsoll.dev/power-limit-watts"
LOOK_SECONDS = 0.2
LABELS = ("Hostname", "gpu", "UUID", "namespace", "pod")
NOBODY = ("", "")


@dataclass(frozen=True)
class Moment:
    """What all GPUs drew, and what was wanted of each node."""

    at: float
    watts: float
    caps: dict[str, str | None]


class CappedGpus(Collector):
    """The GPUs of all nodes; `busy_watts` is what one in use draws where no cap is in its way."""

    def __init__(
        self, api: ApiServer, *, idle_watts: int, busy_watts: int, limit_watts: int
    ) -> None:
        self.address = ""
        self.idle_watts, self.busy_watts, self.limit_watts = idle_watts, busy_watts, limit_watts
        self.broken = False
        self.history: list[Moment] = []
        self._api = api
        self._draws: dict[str, list[float]] = {}
        self._pods: dict[str, list[tuple[str, str]]] = {}
        self.busy_watts_of: dict[str, int] = {}
        """What the GPUs of pods draw otherwise, by how the pods' names begin."""

    def collect(self) -> Iterator[Metric]:
        """The metric as it is now; of what is broken nothing is a number."""
        family = GaugeMetricFamily("DCGM_FI_DEV_POWER_USAGE", "Power draw (W).", labels=LABELS)
        for node, draws in list(self._draws.items()):
            pods = self._pods[node]
            for gpu, watts in enumerate(draws):
                labels = (node, str(gpu), f"GPU-{node}-{gpu}", *pods[gpu])
                family.add_metric(labels, math.nan if self.broken else watts)
        return iter((family,))

    def look(self) -> None:
        """Set the limits that are wanted, and draw by them and by what runs."""
        used: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for pod in self._api.items("/api/v1/pods"):
            if pod.get("status", {}).get("phase") == "Running":
                who = (pod["metadata"]["namespace"], pod["metadata"]["name"])
                used[pod["spec"].get("nodeName", "")] += [who] * gpus_of(pod)
        draws: dict[str, list[float]] = {}
        caps: dict[str, str | None] = {}
        pods: dict[str, list[tuple[str, str]]] = {}
        for node in self._api.items(NODES):
            name, gpus = node["metadata"]["name"], int(node["status"]["capacity"]["nvidia.com/gpu"])
            caps[name] = node["metadata"].get("annotations", {}).get(CAP)
            limit = self._limited(node, caps[name], gpus)
            pods[name] = [*used[name], *[NOBODY] * gpus][:gpus]
            draws[name] = [min(self._wanted(pod), limit) for _, pod in pods[name]]
        self._pods = pods
        self._draws = draws
        watts = sum(sum(each) for each in draws.values())
        self.history.append(Moment(time.monotonic(), watts, caps))

    def _wanted(self, pod: str) -> int:
        """What a GPU draws without a limit, by the name of the pod that has it."""
        if not pod:
            return self.idle_watts
        own = (watts for begin, watts in self.busy_watts_of.items() if pod.startswith(begin))
        return next(own, self.busy_watts)

    def _limited(self, node: Manifest, cap: str | None, gpus: int) -> int:
        limit = self.limit_watts if cap is None else int(cap)
        limits = ",".join([str(limit)] * gpus)
        if node["metadata"].get("annotations", {}).get(LIMIT) != limits:
            patch = {"metadata": {"annotations": {LIMIT: limits}}}
            self._api.merge(f"{NODES}/{node['metadata']['name']}", patch)
        return limit

    @property
    def watts(self) -> float:
        """What all draw now."""
        return self.history[-1].watts if self.history else 0.0

    def longest_above(self, watts: float, *, since: float = 0.0) -> float:
        """For how many seconds at a stretch more was drawn, from a moment on."""
        longest, began = 0.0, None
        for moment in [each for each in self.history if each.at >= since]:
            if began is not None:
                longest = max(longest, moment.at - began)
            if moment.watts <= watts:
                began = None
            elif began is None:
                began = moment.at
        return longest


@contextmanager
def capped_gpus(
    api: ApiServer, *, idle_watts: int, busy_watts: int, limit_watts: int
) -> Generator[CappedGpus]:
    """Serve on loopback, and play the agents, until the block ends."""
    gpus = CappedGpus(api, idle_watts=idle_watts, busy_watts=busy_watts, limit_watts=limit_watts)
    registry, over = CollectorRegistry(), threading.Event()
    registry.register(gpus)
    server, thread = start_http_server(0, "127.0.0.1", registry=registry)
    gpus.address = f"127.0.0.1:{server.server_port}"

    def play() -> None:
        while not over.wait(LOOK_SECONDS):
            gpus.look()

    player = threading.Thread(target=play)
    player.start()
    try:
        yield gpus
    finally:
        over.set()
        player.join()
        server.shutdown()
        thread.join()
        server.server_close()
