from random import Random

import numpy as np
import pytest

from plimsoll_bench.packing.fgd import FragmentationGradientDescent
from plimsoll_bench.packing.fragmentation import Fragmentation, typical_counts
from plimsoll_bench.packing.outcomes import states_now
from plimsoll_bench.packing.replay import replay
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Placement
from support.problems.packing_cases import CPU_ONLY, a_cluster, a_host, a_pod, some_hosts, some_pods

SEEDS = range(12)


def fragmentation_as_defined(
    cluster: Cluster, node: int, typical: dict[PodKind, int]
) -> tuple[int, int]:
    """Idle milli that each typical pod cannot use, summed over pods; and the number of pods."""
    free = [int(milli) for milli in cluster.free[node]]
    total = 0
    for pod, count in typical.items():
        able = (
            pod.gpus > 0
            and pod.accepts(cluster.hosts[node].model)
            and cluster.cpu[node] >= pod.cpu_millis
            and sum(milli >= pod.gpu_milli for milli in free) >= pod.gpus
        )
        unusable = [milli for milli in free if milli < pod.gpu_milli] if able else free
        total += count * sum(unusable)
    return total, sum(typical.values())


def published_choice(
    cluster: Cluster, pod: PodKind, typical: dict[PodKind, int]
) -> Placement | None:
    """FGD by trying every placement on the cluster itself."""
    best: tuple[float, Placement] | None = None
    for node in np.flatnonzero(cluster.fits(pod, np.arange(len(cluster)))):
        for devices in possible_devices(cluster, pod, int(node)):
            placement = Placement(int(node), devices)
            before, pods = fragmentation_as_defined(cluster, int(node), typical)
            cluster.take(pod, placement)
            after, _ = fragmentation_as_defined(cluster, int(node), typical)
            cluster.give_back(pod, placement)
            score = np.floor(100 / (1 + np.exp((after - before) / (pods * 1000))))
            if best is None or score > best[0]:
                best = float(score), placement
    return best[1] if best else None


def possible_devices(cluster: Cluster, pod: PodKind, node: int) -> list[tuple[int, ...]]:
    if pod.shared:
        return [(int(d),) for d in np.flatnonzero(cluster.free[node] >= pod.gpu_milli)]
    return [tuple(int(d) for d in np.flatnonzero(cluster.free[node] == 1000)[: pod.gpus])]


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_give_the_fragmentation_of_the_definition(seed: int) -> None:
    random = Random(seed)
    cluster = Cluster(some_hosts(random))
    typical = typical_counts(some_pods(random, 50))
    fragmentation = Fragmentation(typical, cluster)
    replay(cluster, FragmentationGradientDescent(cluster, typical), some_pods(random, 20))
    found = fragmentation.times_pods(states_now(cluster, np.arange(len(cluster))))
    expected = [fragmentation_as_defined(cluster, n, typical)[0] for n in range(len(cluster))]
    assert found.tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_every_placement_is_the_one_that_trying_all_of_them_finds(seed: int) -> None:
    random = Random(seed)
    cluster = Cluster(some_hosts(random))
    arrivals = some_pods(random, 60)
    typical = typical_counts(arrivals)
    policy = FragmentationGradientDescent(cluster, typical)
    for pod in arrivals:
        expected = published_choice(cluster, pod, typical)
        placement = policy.place(pod)
        assert placement == expected
        if placement:
            cluster.take(pod, placement)


def test_a_share_goes_beside_another_rather_than_to_a_whole_device() -> None:
    cluster = a_cluster(a_host("node", 2))
    cluster.take(a_pod(500), Placement(0, (1,)))
    policy = FragmentationGradientDescent(cluster, typical_counts([a_pod(1000), a_pod(500)]))
    assert policy.place(a_pod(500)) == Placement(0, (1,))


def test_typical_kinds_make_up_95_percent_of_the_pods_most_frequent_first() -> None:
    pods = [a_pod(1000)] * 60 + [a_pod(500)] * 35 + [CPU_ONLY] * 5
    assert [kind.gpu_milli for kind in typical_counts(pods)] == [1000, 500]
    assert list(typical_counts(pods).values()) == [60, 35]
    assert [kind.gpu_milli for kind in typical_counts([*pods, CPU_ONLY])] == [1000, 500, 0]
