"""Prices that leave GPU types to the pods that can run on no other.

A pod that accepts every type should not use up one that others are bound to. The price of a type is
the demand that named it, spread over the types it named as they are idle, as a share of what is
idle of it, assuming that as much as the cluster has left is still to come.
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Floats

NAMED_GPU_MILLI = 100
"""A tenth of a GPU: enough to tell apart places that are about as good."""
MOST_TIMES_OVER = 10


class Scarcity:
    """Counts demand by the types that it names, and prices the types of one cluster.

    `named_gpu_milli` is what taking a GPU costs if all idle ones of its type will be asked for.
    """

    def __init__(self, cluster: Cluster, named_gpu_milli: int = NAMED_GPU_MILLI) -> None:
        self._cluster = cluster
        self._named_gpu_milli = named_gpu_milli
        self._named: Counter[frozenset[GpuType]] = Counter()
        self._demand_milli = 0
        self._next_pricing_milli = 0
        self._prices: Floats = np.zeros(len(cluster))

    def saw(self, pods: Iterable[PodKind]) -> None:
        """Count pods that arrived, and reprice for each percent of the cluster asked for."""
        for pod in pods:
            self._demand_milli += pod.total_gpu_milli
            if pod.gpus and pod.models:
                self._named[pod.models] += pod.total_gpu_milli
        if self._named and self._demand_milli >= self._next_pricing_milli:
            self._next_pricing_milli = self._demand_milli + self._cluster.capacity_milli // 100
            self._prices = self._prices_now()

    @property
    def known(self) -> bool:
        """Whether any type was ever named; otherwise all prices are 0."""
        return bool(self._named)

    @property
    def prices(self) -> Floats:
        """What it costs to take one milli-GPU of each node."""
        return self._prices

    def _prices_now(self) -> Floats:
        cluster = self._cluster
        named = np.array([[model in models for model in cluster.models] for models in self._named])
        milli = np.array(list(self._named.values()))
        idle = np.bincount(cluster.model, cluster.free.sum(axis=1), len(cluster.models))
        to_come = milli / self._demand_milli * idle.sum()
        density = (to_come / np.maximum(named @ idle, 1)) @ named
        prices = np.minimum(density, MOST_TIMES_OVER) * self._named_gpu_milli / WHOLE_GPU_MILLI
        return prices[cluster.model]
