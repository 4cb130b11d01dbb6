from dataclasses import replace
from random import Random

import numpy as np
import pytest

from plimsoll_bench.packing.lookahead import FIRST_LESSON, Lookahead
from plimsoll_bench.packing.replay import replay
from plimsoll_bench.packing.scarcity import Scarcity
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Placement, States
from plimsoll_placement.state.prospects import NOBODY_COMES, Prospects
from plimsoll_placement.state.yardstick import Yardstick
from support.problems.packing_cases import G2, T4, a_cluster, a_host, a_pod, some_hosts, some_pods


def prospect(prospects: Prospects, milli: int, cores: int = 64) -> float:
    only = np.array([0])
    state = States(only, np.array([cores * 1000]), only, np.array([[milli]]))
    return float(prospects.nodes(state, np.array([milli]))[0])


def prospect_as_defined(arrivals: dict[PodKind, int], milli: int, cores: int) -> float:
    pods = sum(arrivals.values())
    above, below = 0.0, NOBODY_COMES
    for pod, count in arrivals.items():
        if pod.gpu_milli <= milli and pod.cpu_millis <= cores * 1000:
            rest = prospect_as_defined(
                arrivals, milli - pod.gpu_milli, cores - pod.cpu_millis // 1000
            )
            above += count / pods * (pod.gpu_milli + rest)
            below += count / pods
    return above / below


@pytest.mark.parametrize(("milli", "cores"), [(1000, 20), (700, 9), (190, 20), (470, 3), (0, 5)])
def test_prospects_follow_their_definition(milli: int, cores: int) -> None:
    arrivals = {a_pod(810, cores=3): 5, a_pod(470, cores=8): 4, a_pod(1000, cores=11): 3}
    arrivals |= {a_pod(160, cores=4): 1}
    expected = prospect_as_defined(arrivals, milli, cores)
    assert prospect(Prospects(arrivals, Yardstick()), milli, cores) == pytest.approx(expected)


def test_a_gap_that_only_rare_pods_fit_is_worth_little() -> None:
    prospects = Prospects({a_pod(810): 99, a_pod(190): 1}, Yardstick())
    assert prospect(prospects, 190) < 100
    assert prospect(prospects, 1000) > 750


def test_idle_gpus_without_cpu_are_worth_nothing() -> None:
    prospects = Prospects({a_pod(1000, cores=8): 1}, Yardstick())
    assert prospect(prospects, 1000, cores=7) == 0
    assert prospect(prospects, 1000, cores=8) > 900


def after_arrivals(cluster: Cluster, *pods: PodKind) -> Lookahead:
    """A policy that has seen these over and over, and placed none of them."""
    policy = Lookahead(cluster)
    for number in range(FIRST_LESSON):
        policy.place(pods[number % len(pods)])
    return policy


def test_a_share_fills_the_gap_that_the_pods_to_come_use_least() -> None:
    cluster = a_cluster(a_host("node", 3))
    cluster.take(a_pod(500), Placement(0, (1,)))
    cluster.take(a_pod(490), Placement(0, (2,)))
    policy = after_arrivals(cluster, a_pod(500), a_pod(1000))
    assert policy.place(a_pod(500)) == Placement(0, (1,))


def test_a_pod_with_much_cpu_goes_where_cpu_is_plenty() -> None:
    cluster = a_cluster(a_host("tight", 2, cores=24), a_host("plenty", 2, cores=104))
    policy = after_arrivals(cluster, a_pod(1000, cores=12))
    assert policy.place(a_pod(1000, cores=20)) == Placement(1, (0,))


def test_where_memory_runs_out_first_much_of_it_is_sought_where_it_is_plenty() -> None:
    plenty = replace(a_host("plenty"), memory_mib=1 << 19)
    cluster = a_cluster(replace(a_host("tight"), memory_mib=1 << 17), plenty)
    typical = replace(a_pod(), memory_mib=50_000)
    policy = after_arrivals(cluster, typical)
    assert policy.place(replace(typical, memory_mib=90_000)) == Placement(1, (0,))


def test_a_pod_that_runs_anywhere_leaves_the_model_that_others_are_bound_to() -> None:
    cluster = a_cluster(a_host("scarce", 4, model=T4), a_host("plenty", 4, model=G2))
    policy = after_arrivals(cluster, a_pod(models=[T4]), a_pod())
    assert policy.place(a_pod()) == Placement(1, (0,))


def test_what_is_asked_for_by_name_has_a_price_and_the_rest_has_none() -> None:
    cluster = a_cluster(a_host("a", model=T4), a_host("b", model=G2))
    scarcity = Scarcity(cluster)
    scarcity.saw([a_pod(models=[T4]), a_pod()])
    assert scarcity.prices[0] > 0
    assert scarcity.prices[1] == 0


def test_the_price_of_a_model_rises_as_it_runs_out() -> None:
    cluster = a_cluster(a_host("a", 4, model=T4), a_host("b", 4, model=G2))
    scarcity = Scarcity(cluster)
    scarcity.saw([a_pod(models=[T4]), a_pod()])
    at_first = scarcity.prices[0]
    cluster.take(a_pod(gpus=3), Placement(0, (0, 1, 2)))
    scarcity.saw([a_pod(models=[T4]), a_pod()])
    assert scarcity.prices[0] > at_first


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_given_twice_and_no_pod_that_fits_is_refused(seed: int) -> None:
    random = Random(seed)
    cluster = Cluster(some_hosts(random))
    policy = Lookahead(cluster)
    for pod in some_pods(random, 80):
        placement = policy.place(pod)
        assert (placement is not None) == cluster.fits(pod, np.arange(len(cluster))).any()
        if placement:
            cluster.take(pod, placement)
        assert (cluster.free >= 0).all()
        assert (cluster.cpu >= 0).all()
        assert (cluster.memory >= 0).all()


def test_the_same_arrivals_are_placed_the_same_way() -> None:
    hosts, pods = some_hosts(Random(1)), some_pods(Random(2), 80)
    first, second = (Cluster(hosts) for _ in range(2))
    assert (
        replay(first, Lookahead(first), pods).placements
        == replay(second, Lookahead(second), pods).placements
    )
