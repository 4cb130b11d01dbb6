"""Which nodes were ordered together, and which of them have come."""

from plimsoll.observe.nodes.orders import Order, Stage
from plimsoll.observe.nodes.provisioning_requests import MOST_ASKED
from plimsoll.observe.snapshot import Snapshot
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen
from support.objects.bought_nodes import (
    a_claim,
    a_growing_pool,
    a_node_of,
    a_request,
    an_autoscaled_pool,
    said,
)

POOL = an_autoscaled_pool()
EARLY, BEFORE, LATER = (f"2026-11-21T11:{minute}:00Z" for minute in (50, 57, 59))
ACCEPTED, PROVISIONED = said("Accepted"), said("Provisioned")
NOT_FOUND = said("Provisioned", "False", "CapacityIsNotFound")
FAILED = said("Failed", at=LATER)


def a_node(name: str, at: str = LATER, gpus: int = 8) -> Manifest:
    return a_node_of("h100", name, came=at, gpus=gpus)


def orders(*manifests: Manifest) -> list[tuple[str, str, bool]]:
    return [brief(order) for order in seen(POOL, *manifests).orders]


def brief(order: Order) -> tuple[str, str, bool]:
    return order.name, order.node, order.arrived


def stage(*conditions: Manifest) -> Stage:
    (found,) = seen(POOL, a_request("h100-1", conditions=conditions)).requests
    return found.stage


def nodes_of(snapshot: Snapshot) -> dict[str, list[str]]:
    return {each.name: [node.name for node in each.nodes] for each in snapshot.requests}


def test_a_request_is_an_order_of_each_of_its_nodes() -> None:
    assert orders(a_request("h100-1", count=2)) == [("h100-1", "", False)] * 2
    some = (a_request("h100-1", count=2), a_node("n"))
    assert orders(*some) == [("h100-1", "n", True), ("h100-1", "", False)]


def test_a_node_that_is_not_ready_has_not_arrived() -> None:
    assert orders(a_request("h100-1", count=1), a_node("n", gpus=0)) == [("h100-1", "n", False)]
    (request,) = seen(POOL, a_request("h100-1", count=1), a_node("n", gpus=0)).requests
    assert not request.is_met


def test_all_nodes_of_such_a_pool_count_as_ordered() -> None:
    assert orders(a_node("n", at=EARLY)) == [("n", "n", True)]
    fixed = a_growing_pool(sells=False)
    assert seen(fixed, a_node("n")).orders == ()


def test_nodes_that_were_there_before_are_not_a_requests() -> None:
    assert orders(a_request("h100-1", count=1), a_node("old", at=BEFORE)) == [
        ("h100-1", "", False),
        ("old", "old", True),
    ]


def test_nodes_are_those_of_the_oldest_request_that_lacks_some() -> None:
    old, young = a_request("h100-2", count=2, creationTimestamp=EARLY), a_request("h100-1", count=2)
    found = seen(POOL, old, young, *(a_node(name) for name in "abc"))
    assert nodes_of(found) == {"h100-2": ["a", "b"], "h100-1": ["c"]}


def test_a_request_that_has_failed_gets_no_node_that_comes_later() -> None:
    failed = a_request("h100-1", count=2, creationTimestamp=EARLY, conditions=[FAILED])
    late = "2026-11-21T11:59:30Z"
    found = seen(POOL, failed, a_request("h100-2"), a_node("a"), a_node("b", at=late))
    assert nodes_of(found) == {"h100-1": ["a"], "h100-2": ["b"]}
    names = [brief(order) for order in found.orders]
    assert names == [("a", "a", True), ("h100-2", "b", True), ("h100-2", "", False)]


def test_what_the_conditions_say() -> None:
    assert stage() is Stage.SENT
    assert stage(ACCEPTED) is Stage.ACCEPTED
    assert stage(ACCEPTED, PROVISIONED) is Stage.ACCEPTED
    assert stage(PROVISIONED, said("BookingExpired")) is Stage.EXPIRED
    for failure in (FAILED, said("CapacityRevoked"), NOT_FOUND):
        assert stage(ACCEPTED, failure) is Stage.FAILED
    assert stage(ACCEPTED, said("Failed", "False")) is Stage.ACCEPTED
    assert stage(ACCEPTED, said("Provisioned", "False", "WaitsInLine")) is Stage.ACCEPTED


def test_a_request_whose_nodes_are_all_there_is_met_whatever_became_of_it_then() -> None:
    revoked = a_request("h100-1", count=1, conditions=[said("CapacityRevoked", at=LATER)])
    (request,) = seen(POOL, revoked, a_node("n")).requests
    assert request.is_met
    assert orders(revoked, a_node("n")) == [("h100-1", "n", True)]


def test_requests_of_others_are_none_of_ours() -> None:
    theirs = a_request("theirs")
    theirs["metadata"]["ownerReferences"][0]["uid"] = "of-another"
    found = seen(POOL, theirs)
    assert (found.requests, found.orders) == ((), ())


def test_a_node_is_ordered_once_though_the_pool_was_karpenters_before() -> None:
    assert orders(a_claim("h100-1", node="n", arrived=True), a_node("n")) == [("h100-1", "n", True)]


def test_a_request_for_countless_nodes_counts_as_one_for_many() -> None:
    assert len(seen(POOL, a_request("h100-1", count=2**31 - 1)).orders) == MOST_ASKED
