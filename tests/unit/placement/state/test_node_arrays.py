from random import Random

import numpy as np
import pytest

from plimsoll_bench.packing.lookahead import Lookahead
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Placement
from support.problems.packing_cases import (
    CPU_ONLY,
    T4,
    a_cluster,
    a_host,
    a_pod,
    some_hosts,
    some_pods,
)

ONLY = np.zeros(1, dtype=np.int64)


def test_a_share_fits_where_one_device_has_enough_left() -> None:
    cluster = a_cluster(a_host("node", 2))
    cluster.take(a_pod(600), Placement(0, (0,)))
    cluster.take(a_pod(600), Placement(0, (1,)))
    assert cluster.fits(a_pod(400), ONLY)
    assert not cluster.fits(a_pod(410), ONLY)


def test_whole_gpus_need_devices_that_nobody_uses() -> None:
    cluster = a_cluster(a_host("node", 2))
    assert cluster.fits(a_pod(gpus=2), ONLY)
    cluster.take(a_pod(10), Placement(0, (0,)))
    assert cluster.fits(a_pod(gpus=1), ONLY)
    assert not cluster.fits(a_pod(gpus=2), ONLY)


def test_cpu_memory_and_model_must_fit_as_well() -> None:
    cluster = a_cluster(a_host("node", cores=8))
    assert not cluster.fits(a_pod(cores=9), ONLY)
    assert not cluster.fits(a_pod(models=[T4]), ONLY)
    cluster.memory[0] = 1023
    assert not cluster.fits(a_pod(), ONLY)


def test_a_pod_without_gpus_fits_on_any_model() -> None:
    assert a_cluster(a_host("node", model=T4)).fits(CPU_ONLY, ONLY)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_given_back_is_as_if_it_was_never_taken(seed: int) -> None:
    random = Random(seed)
    cluster, untouched = (Cluster(hosts) for hosts in [some_hosts(random)] * 2)
    policy = Lookahead(cluster)
    taken: list[tuple[PodKind, Placement]] = []
    for pod in some_pods(random, 40):
        if placement := policy.place(pod):
            cluster.take(pod, placement)
            taken.append((pod, placement))
    assert taken
    for pod, placement in taken:
        cluster.give_back(pod, placement)
    assert (cluster.free == untouched.free).all()
    assert (cluster.cpu == untouched.cpu).all()
    assert (cluster.memory == untouched.memory).all()
    assert cluster.used_milli == 0
