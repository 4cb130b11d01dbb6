"""Which pods are where in a cluster, so that one can be asked to move."""

from dataclasses import dataclass

import numpy as np

from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Bools, Cluster, Ints, Placement

NODE, DEVICE, GPU_MILLI, CPU, MEMORY = COLUMNS = range(5)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A pod in its place, known by its number."""

    number: int
    pod: PodKind
    placement: Placement


class Tenants:
    """The pods of a cluster; those on one device can be found by what their leaving would free.

    Places are taken and given back through this, so that it always agrees with the cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tenants: list[Tenant | None] = []
        self._table: Ints = np.zeros((1024, len(COLUMNS)), dtype=np.int64)

    def settle(self, pod: PodKind, placement: Placement) -> Tenant:
        """Place a pod, which must fit."""
        self._cluster.take(pod, placement)
        tenant = Tenant(len(self._tenants), pod, placement)
        self._tenants.append(tenant)
        if tenant.number == len(self._table):
            self._table = np.concatenate((self._table, np.zeros_like(self._table)))
        self._table[tenant.number] = _columns(tenant)
        return tenant

    def leave(self, tenant: Tenant) -> None:
        """Free what a tenant holds; it is no longer a tenant."""
        self._cluster.give_back(tenant.pod, tenant.placement)
        self._tenants[tenant.number] = None
        self._table[tenant.number] = -1

    def in_the_way(self, pod: PodKind) -> list[Tenant]:
        """One of each kind of tenants without which alone the pod would fit on their node.

        Of tenants of one kind it is the one in whose place the pod would leave least idle. Kinds
        that hold least come first.
        """
        found = np.flatnonzero(self._would_make_room(pod))
        node, device = self._table[found, NODE], self._table[found, DEVICE]
        idle = self._cluster.free[node, device] + self._table[found, GPU_MILLI]
        one_of_each: dict[PodKind, Tenant] = {}
        for number in found[np.argsort(idle, kind="stable")]:
            tenant = self._tenants[int(number)]
            if tenant is not None:
                one_of_each.setdefault(tenant.pod, tenant)
        return sorted(one_of_each.values(), key=lambda tenant: tenant.pod.total_gpu_milli)

    def _would_make_room(self, pod: PodKind) -> Bools:
        cluster, table = self._cluster, self._table[: len(self._tenants)]
        node, device, milli = table[:, NODE], table[:, DEVICE], table[:, GPU_MILLI]
        idle = cluster.free[node, device] + milli
        enough = (node >= 0) & (device >= 0) & (milli < pod.total_gpu_milli)
        enough &= cluster.cpu[node] + table[:, CPU] >= pod.cpu_millis
        enough &= cluster.memory[node] + table[:, MEMORY] >= pod.memory_mib
        if pod.models:
            enough &= cluster.accepted(pod)[cluster.model[node]]
        if pod.gpus == 1:
            return enough & (idle >= pod.gpu_milli)
        whole = (cluster.free[node] == WHOLE_GPU_MILLI).sum(axis=1)
        return enough & (idle == WHOLE_GPU_MILLI) & (whole + 1 >= pod.gpus)


def _columns(tenant: Tenant) -> tuple[int, int, int, int, int]:
    pod, placement = tenant.pod, tenant.placement
    device = placement.devices[0] if len(placement.devices) == 1 else -1
    return placement.node, device, pod.gpu_milli, pod.cpu_millis, pod.memory_mib
