"""What no packing can exceed."""

import pytest

from plimsoll_bench.packing.bound import most_used_percent
from plimsoll_placement.state.arrivals import PodKind
from support.problems.packing_cases import T4, a_host, a_pod


def test_gaps_that_no_pod_fits_into_stay_free() -> None:
    assert most_used_percent([a_host("a", 4)], [a_pod(470)] * 20) == pytest.approx(94)
    assert most_used_percent([a_host("a", 4)], [a_pod(470)] * 20 + [a_pod(60)] * 2) == (
        pytest.approx(97)
    )


def test_who_was_placed_stays() -> None:
    pods = [*[a_pod(810)] * 4, *[a_pod(1000)] * 4]
    assert most_used_percent([a_host("a", 4)], pods) == pytest.approx(100)
    kept = [a_pod(810)] * 2
    assert most_used_percent([a_host("a", 4)], pods, kept) == pytest.approx((2 * 81 + 200) / 4)


@pytest.mark.parametrize(
    "pod",
    [a_pod(1000, models=[T4]), a_pod(1000, cores=100)],
    ids=["no node of the type", "too little CPU"],
)
def test_what_has_no_node_is_not_counted(pod: PodKind) -> None:
    assert most_used_percent([a_host("a", 4)], [pod, a_pod()]) == pytest.approx(25)


def test_cpu_and_memory_are_a_limit() -> None:
    assert most_used_percent([a_host("a", 4, cores=8)], [a_pod(cores=4)] * 4) == pytest.approx(50)
