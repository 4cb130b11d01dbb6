"""Turns of arrivals under the solver, with the devices given out as a kubelet would."""

from dataclasses import replace
from random import Random

import pytest

from plimsoll_bench.packing.kubelets import Kubelets
from plimsoll_bench.packing.planned import STOP_SECONDS, planned_replay
from plimsoll_placement.model import Job
from plimsoll_placement.state.node_arrays import Cluster
from support.problems.builders import a_role, a_training_job, gang_on
from support.problems.packing_cases import G2, T4, a_cluster, a_host, a_pod, some_hosts, some_pods
from support.project.tiers import quick_first


@pytest.mark.parametrize("seed", quick_first(range(10), 3))
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


@pytest.mark.parametrize("seed", quick_first(range(10), 3))
def test_with_moves_nothing_is_given_twice_and_what_is_in_use_is_counted(seed: int) -> None:
    random = Random(seed)
    pods = [pod for pod in some_pods(random, 90) if pod.gpus]
    cluster = Cluster(some_hosts(random))
    moved = planned_replay(cluster, pods, 7, moves=True)
    placements = moved.replay.placements
    placed = [pod for pod, at in zip(pods, placements, strict=True) if at is not None]
    assert moved.moved_and_not_started == 0
    assert sum(pod.total_gpu_milli for pod in placed) == moved.replay.used_milli[-1]
    used = cluster.capacity_milli - cluster.free.sum()
    assert used == moved.replay.used_milli[-1]
    assert min(cluster.free.min(), cluster.cpu.min(), cluster.memory.min()) >= 0


def test_a_share_moves_beside_another_and_leaves_a_whole_gpu() -> None:
    cluster = a_cluster(a_host("a", 1, model=T4), a_host("b", 1))
    pods = [a_pod(300, models=[T4]), a_pod(300), a_pod(1000)]
    moved = planned_replay(cluster, pods, 1, moves=True)
    assert [each is not None for each in moved.replay.placements] == [True, True, True]
    assert cluster.free.tolist() == [[400], [0]]
    [turn] = moved.turns_with_moves
    assert (turn.moves, turn.gained_milli) == (1, 1000)
    assert turn.break_even_seconds == 0.3 * STOP_SECONDS


def test_of_a_device_that_a_share_has_left_a_plan_sees_what_is_free() -> None:
    """Packed anew, the other two would be on one device; in truth each has one."""
    cluster = a_cluster(a_host("a", 2))
    kubelets = Kubelets(cluster)
    for number, milli in enumerate((600, 500, 400)):
        assert kubelets.start(a_job(number, milli), a_pod(milli))
    leaves = kubelets.free_to_move()[0]
    kubelets.stop(leaves)
    kubelets.look_again()
    assert kubelets.free_to_move() == []
    assert kubelets.nodes()[0].devices[0].free_milli == (600, 500)


def a_job(number: int, milli: int) -> Job:
    job = a_training_job(f"job-{number}", worker=a_role(gpu_milli=milli), sequence=number)
    return replace(job, running=gang_on("a", gpu_type=G2))
