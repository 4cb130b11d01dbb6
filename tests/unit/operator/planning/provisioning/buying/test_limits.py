"""What is about to be ordered is checked once more, by a count of its own."""

from plimsoll.planning.provisioning.buying.limits import Limits
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen
from support.objects.bought_nodes import a_claim, a_growing_pool, a_node_of
from support.objects.job_manifests import a_policy

GONE = "2026-11-21T11:59:00Z"


def broken(wanted: int, *manifests: Manifest) -> list[str]:
    return [*Limits(seen(*manifests)).broken({"h100": wanted})]


def test_nodes_and_orders_in_any_state_count_once_toward_the_most_nodes() -> None:
    there = [
        a_node_of("h100", "own"),
        a_node_of("h100", "bought"),
        a_claim("h100-1", node="bought", arrived=True),
        a_claim("h100-2"),
        a_claim("h100-3", deletionTimestamp=GONE),
    ]
    assert broken(1, a_growing_pool(most=5), *there) == []
    assert broken(2, a_growing_pool(most=5), *there) == [
        "GPUPool h100: 2 more of its nodes than the 4 there and coming exceed max, 5"
    ]


def test_what_is_paid_already_counts_toward_the_budget_and_what_is_owned_does_not() -> None:
    pool, budget = a_growing_pool(price="0.1", most=9), a_policy(purchasing={"mostPerHour": "2.4"})
    there = [a_node_of("h100", "own"), a_claim("h100-1"), a_claim("h100-2", deletionTimestamp=GONE)]
    assert broken(1, pool, budget, *there) == []
    assert broken(2, pool, budget, *there) == [
        "all bought nodes would cost 3.2 an hour: mostPerHour is 2.4"
    ]
    assert broken(0, a_growing_pool(price="5"), budget, *there) == []


def test_what_has_no_known_price_is_not_bought_on_a_budget() -> None:
    pool, budget = a_growing_pool(price="0"), a_policy(purchasing={"mostPerHour": "100"})
    assert broken(1, pool, budget) == ["GPUPool h100: no price is known, but mostPerHour is 100"]
    assert broken(1, pool) == broken(0, pool, budget) == []
