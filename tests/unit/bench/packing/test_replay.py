import pytest

from plimsoll_bench.packing.lookahead import Lookahead
from plimsoll_bench.packing.replay import replay
from support.problems.packing_cases import a_cluster, a_host, a_pod


def test_use_is_averaged_over_the_arrivals_at_a_rounded_demand() -> None:
    cluster = a_cluster(a_host("node", 2))
    pods = [a_pod(gpus=2), a_pod(2), a_pod(4), a_pod(1000)]
    replayed = replay(cluster, Lookahead(cluster), pods)
    assert replayed.rejected == 3
    assert replayed.allocated_percent(100) == 100
    assert replayed.allocated_percent(130) == 100
    assert replayed.allocated_percent(99) == 0


def test_what_fits_nowhere_is_demand_all_the_same() -> None:
    cluster = a_cluster(a_host("node", 1))
    replayed = replay(cluster, Lookahead(cluster), [a_pod(810), a_pod(490), a_pod(190)])
    assert replayed.arrived_milli.tolist() == [810, 1300, 1490]
    assert replayed.used_milli.tolist() == [810, 810, 1000]
    assert replayed.allocated_percent(130) == pytest.approx(81)
