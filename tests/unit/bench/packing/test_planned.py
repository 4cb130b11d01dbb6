"""Turns of arrivals under the solver, with the devices given out as a kubelet would."""

from random import Random

import pytest

from plimsoll_bench.packing.planned import planned_replay
from plimsoll_placement.state.node_arrays import Cluster
from support.problems.packing_cases import G2, T4, a_cluster, a_host, a_pod, some_hosts, some_pods


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("turn", [1, 7])
def test_every_pod_holds_devices_of_its_own_and_none_is_given_twice(seed: int, turn: int) -> None:
    random = Random(seed)
    hosts = some_hosts(random)
    pods = [pod for pod in some_pods(random, 60) if pod.gpus]
    cluster, again = Cluster(hosts), Cluster(hosts)
    replayed = planned_replay(cluster, pods, turn).replay
    for pod, placement in zip(pods, replayed.placements, strict=True):
        if placement is not None:
            assert len(set(placement.devices)) == pod.gpus
            assert pod.accepts(hosts[placement.node].model)
            again.take(pod, placement)
            assert (again.free >= 0).all()
            assert (again.cpu >= 0).all()
            assert (again.memory >= 0).all()
    assert (again.free == cluster.free).all()
    assert replayed.used_milli[-1] == cluster.used_milli


def test_one_by_one_is_first_come_first_served() -> None:
    pods = [a_pod(810), a_pod(1000)]
    alone = planned_replay(a_cluster(a_host("node", 1)), pods, 1).replay
    assert [each is not None for each in alone.placements] == [True, False]


def test_of_those_that_come_together_the_least_wasteful_is_placed() -> None:
    pods = [a_pod(810), *[a_pod(1000)] * 40]
    together = planned_replay(a_cluster(a_host("node", 8)), pods, len(pods)).replay
    assert together.placements[0] is None
    assert together.rejected == len(pods) - 8


def test_use_counts_once_the_turn_is_planned_and_demand_on_arrival() -> None:
    replayed = planned_replay(a_cluster(), [a_pod()] * 3, 2).replay
    assert replayed.arrived_milli.tolist() == [1000, 2000, 3000]
    assert replayed.used_milli.tolist() == [0, 2000, 2000]


def test_a_type_is_left_to_those_that_come_bound_to_it() -> None:
    cluster = a_cluster(a_host("a", 4, model=T4), a_host("b", 4, model=G2))
    pods = [a_pod(models=[T4]), *[a_pod()] * 3]
    placements = planned_replay(cluster, pods, len(pods)).replay.placements
    assert [each.node for each in placements if each is not None] == [0, 1, 1, 1]
