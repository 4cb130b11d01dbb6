from plimsoll_bench.packing.batches import replay_in_batches
from plimsoll_bench.packing.lookahead import FIRST_LESSON, Lookahead
from support.problems.packing_cases import a_cluster, a_host, a_pod


def test_pods_that_wait_together_are_placed_by_what_they_leave_to_others() -> None:
    cluster = a_cluster(a_host("node", 1))
    policy = Lookahead(cluster)
    for _ in range(FIRST_LESSON):
        policy.saw(a_pod(1000))
    replayed = replay_in_batches(cluster, policy, [a_pod(810), a_pod(1000)], 2)
    assert [placement is not None for placement in replayed.placements] == [False, True]


def test_one_at_a_time_is_first_come_first_served() -> None:
    cluster = a_cluster(a_host("node", 1))
    replayed = replay_in_batches(cluster, Lookahead(cluster), [a_pod(810), a_pod(1000)], 1)
    assert [placement is not None for placement in replayed.placements] == [True, False]


def test_pods_use_nothing_until_their_batch_is_complete() -> None:
    cluster = a_cluster(a_host("node", 4))
    pods = [a_pod(1000)] * 5
    replayed = replay_in_batches(cluster, Lookahead(cluster), pods, 2)
    assert replayed.used_milli.tolist() == [0, 2000, 2000, 4000, 4000]
    assert replayed.arrived_milli.tolist() == [1000, 2000, 3000, 4000, 5000]
