import numpy as np
import pytest

from plimsoll_bench.packing.outcomes import states_now
from plimsoll_bench.packing.power import Consumption, PowerMeter, frugal, watts_over_time
from plimsoll_placement.state.node_arrays import Cluster, Placement
from support.problems.packing_cases import CPU_ONLY, G2, T4, a_cluster, a_host, a_pod

BY_MODEL = {T4: Consumption(10, 70, 20, 165, 8), G2: Consumption(30, 150, 20, 265, 16)}


def draw(cluster: Cluster) -> int:
    every = np.arange(len(cluster))
    return int(PowerMeter(cluster, BY_MODEL).watts(states_now(cluster, every)).sum())


def test_an_unused_node_draws_idle_watts_of_all_gpus_and_packages() -> None:
    assert draw(a_cluster(a_host("t", 2, model=T4, cores=32))) == 2 * 10 + 2 * 20


@pytest.mark.parametrize("share", [10, 810, 1000])
def test_any_share_makes_a_gpu_busy_and_one_core_its_package(share: int) -> None:
    cluster = a_cluster(a_host("t", 2, model=T4, cores=32))
    cluster.take(a_pod(share, cores=1), Placement(0, (1,)))
    assert draw(cluster) == (10 + 70) + (165 + 20)


def test_a_pod_without_gpus_makes_packages_busy_by_its_cores() -> None:
    cluster = a_cluster(a_host("t", 2, model=T4, cores=32))
    cluster.take(CPU_ONLY, Placement(0))
    assert draw(cluster) == 20 + (165 + 20)
    cluster.take(a_pod(100, cores=13), Placement(0, (0,)))
    assert draw(cluster) == 80 + 165 + 165


def test_the_draw_over_time_is_that_of_the_cluster_after_each_arrival() -> None:
    hosts = a_host("t", 2, model=T4, cores=32), a_host("g", 8, cores=96)
    pods = [a_pod(500, cores=4), a_pod(cores=40), a_pod(gpus=8), CPU_ONLY]
    placements = [Placement(0, (0,)), Placement(1, (3,)), None, Placement(1)]
    meter = PowerMeter(Cluster(hosts), BY_MODEL)
    expected: list[int] = []
    cluster = Cluster(hosts)
    for pod, placement in zip(pods, placements, strict=True):
        if placement:
            cluster.take(pod, placement)
        expected.append(draw(cluster))
    assert watts_over_time(Cluster(hosts), meter, pods, placements).tolist() == expected


def test_where_power_counts_a_pod_goes_to_the_gpu_that_draws_less() -> None:
    cluster = a_cluster(a_host("much", 8, model=G2, cores=96), a_host("little", 2, model=T4))
    assert frugal(cluster, PowerMeter(cluster, BY_MODEL)).place(a_pod()) == Placement(1, (0,))


def test_where_power_counts_a_share_joins_a_gpu_that_is_busy_anyway() -> None:
    cluster = a_cluster(a_host("idle", 1, model=T4), a_host("busy", 2, model=T4))
    cluster.take(a_pod(300), Placement(1, (1,)))
    assert frugal(cluster, PowerMeter(cluster, BY_MODEL)).place(a_pod(300)) == Placement(1, (1,))
