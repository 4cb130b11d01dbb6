"""What GPUs and CPU packages draw, according to the PWR plugin for kube-scheduler.

Source: github.com/Fr4nz83/PWR-plugin-kubernetes, for the GPU types of the openb trace.
"""

from plimsoll_bench.packing.power import Consumption, PowerMeter
from plimsoll_placement.model import GpuType
from plimsoll_placement.state.node_arrays import Cluster

CONSUMPTION = {
    GpuType("T4"): Consumption(10, 70, 20, 165, 24),
    GpuType("P100"): Consumption(25, 250, 15, 120, 16),
    GpuType("V100M16"): Consumption(30, 300, 20, 185, 16),
    GpuType("V100M32"): Consumption(30, 300, 20, 185, 16),
    GpuType("A10"): Consumption(30, 150, 20, 270, 32),
    GpuType("G2"): Consumption(30, 150, 20, 270, 32),
    GpuType("G3"): Consumption(50, 400, 20, 270, 32),
}


def meter_of(cluster: Cluster) -> PowerMeter:
    """A meter for the nodes of a cluster whose GPU types are all known here."""
    return PowerMeter(cluster, CONSUMPTION)
