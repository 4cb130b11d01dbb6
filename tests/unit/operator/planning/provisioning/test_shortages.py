"""What is remembered of pools of which no nodes can be had."""

from datetime import datetime, timedelta

from plimsoll.api.gpu_pool import ProvisioningStatus
from plimsoll.planning.provisioning.shortages import Shortages
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, seen
from support.objects.bought_nodes import (
    a_claim,
    a_growing_pool,
    a_node_of,
    a_request,
    an_autoscaled_pool,
    said,
)

POOL = a_growing_pool()


def look(
    known: Shortages, *claims: Manifest, pool: Manifest = POOL, now: datetime = NOW
) -> tuple[list[str], list[str]]:
    """The orders that have arrived, and those that could not be met."""
    news = known.see(seen(pool, *claims, now=now))
    return [*news.arrived.get("h100", ())], [*news.failed.get("h100", ())]


def minutes_blocked(known: Shortages, now: datetime = NOW) -> float | None:
    until = known.until("h100")
    return None if until is None else (until - now).total_seconds() / 60


def test_an_order_that_is_gone_before_its_node_has_come_is_a_failure() -> None:
    known = Shortages()
    assert look(known, a_claim("h100-1")) == ([], [])
    assert look(known) == ([], ["h100-1"])
    assert known.blocked(NOW) == {"h100"}
    assert known.blocked(NOW + timedelta(minutes=1)) == set()


def test_each_failure_in_a_row_blocks_for_longer() -> None:
    known, now = Shortages(), NOW
    found: list[float | None] = []
    for _ in range(8):
        look(known, a_claim("h100-1"), now=now)
        look(known, now=now)
        found.append(minutes_blocked(known, now))
        now = known.until("h100") or now
    assert found == [1, 2, 4, 8, 16, 30, 30, 30]


def test_nodes_that_were_ordered_together_and_fail_one_after_the_other_are_one_failure() -> None:
    known, later = Shortages(), NOW + timedelta(seconds=5)
    look(known, a_claim("h100-1"), a_claim("h100-2"), a_claim("h100-3"))
    assert look(known, a_claim("h100-2"), a_claim("h100-3")) == ([], ["h100-1"])
    assert look(known, a_claim("h100-3"), now=later) == ([], ["h100-2"])
    known.failed("h100", later)
    assert minutes_blocked(known, later) == 1


def test_a_node_that_arrives_ends_it_if_it_was_ordered_later() -> None:
    known, later = Shortages(), (NOW + timedelta(minutes=1)).isoformat()
    look(known, a_claim("h100-1"))
    look(known)
    look(known, a_claim("h100-2", creationTimestamp=later))
    there = a_claim("h100-2", node="n", arrived=True, creationTimestamp=later)
    assert look(known, there) == (["h100-2"], [])
    assert known.blocked(NOW) == set()
    assert look(known) == ([], []), "that a node goes which has come is no failure"


def test_one_that_was_ordered_together_with_it_does_not() -> None:
    known = Shortages()
    look(known, a_claim("h100-1"), a_claim("h100-2"))
    assert look(known, a_claim("h100-1", node="n", arrived=True)) == (["h100-1"], ["h100-2"])
    assert known.blocked(NOW) == {"h100"}


def test_an_order_that_was_taken_back_is_no_failure() -> None:
    known = Shortages()
    look(known, a_claim("h100-1"))
    known.given_up("h100-1")
    assert look(known) == ([], [])


def test_an_order_that_leaves_by_itself_is_a_failure_at_once_and_just_once() -> None:
    known, leaving = Shortages(), a_claim("h100-1", deletionTimestamp="2026-11-21T11:59:00Z")
    look(known, a_claim("h100-1"))
    assert look(known, leaving) == ([], ["h100-1"])
    assert look(known, leaving) == ([], [])
    assert look(known) == ([], [])


def test_one_that_was_never_seen_is_one() -> None:
    known = Shortages()
    look(known)
    known.ordered("h100-1", "h100")
    assert not known.see(seen(POOL), frozenset({"h100-1"})).failed, "it is being made"
    assert look(known) == ([], ["h100-1"])


def test_a_restart_forgets_nothing() -> None:
    before = Shortages()
    look(before, a_claim("h100-1"))
    look(before, a_claim("h100-2"))
    snapshot = seen(POOL, a_claim("h100-2"))
    said = before.status(snapshot.pools[0], snapshot)
    assert said is not None
    assert (said.ordered, said.failures) == (("h100-2",), 1)
    after, pool = Shortages(), {**POOL, "status": {"provisioning": said.wire()}}
    assert after.see(seen(pool)).failed == {"h100": ("h100-2",)}
    assert minutes_blocked(after) == 1, "it was ordered before the first failed"
    after.failed("h100", NOW + timedelta(minutes=1))
    assert minutes_blocked(after) == 3, "two more, from then"


def test_a_pool_that_is_made_anew_is_another() -> None:
    known = Shortages()
    look(known, a_claim("h100-1"))
    look(known)
    anew = {**POOL, "metadata": {**POOL["metadata"], "uid": "another"}}
    look(known, pool=anew)
    assert known.blocked(NOW) == set()


def test_the_status_says_what_the_nodes_cost() -> None:
    snapshot = seen(POOL, a_claim("h100-1"), a_claim("h100-2", node="n", arrived=True))
    said = Shortages().status(snapshot.pools[0], snapshot)
    assert said is not None
    assert (said.dollars_per_hour, said.ordered) == (32, ("h100-1",))


AUTOSCALED = an_autoscaled_pool()
ASKED = a_request("h100-1", count=2, conditions=[said("Accepted")])
LATE = "2026-11-21T11:59:00Z"


def came(name: str) -> Manifest:
    return a_node_of("h100", name, came=LATE)


def test_a_request_has_arrived_once_all_its_nodes_are_there() -> None:
    known = Shortages()
    assert look(known, ASKED, pool=AUTOSCALED) == ([], [])
    assert look(known, ASKED, came("a"), pool=AUTOSCALED) == ([], [])
    assert look(known, ASKED, came("a"), came("b"), pool=AUTOSCALED) == (["h100-1"], [])
    assert look(known, came("a"), came("b"), pool=AUTOSCALED) == ([], [])


def test_a_request_that_fails_is_one_failure_though_it_stays() -> None:
    known, failed = Shortages(), a_request("h100-1", count=2, conditions=[said("Failed", at=LATE)])
    look(known, ASKED, pool=AUTOSCALED)
    assert look(known, failed, came("a"), pool=AUTOSCALED) == ([], ["h100-1"])
    assert look(known, failed, came("a"), pool=AUTOSCALED) == ([], [])
    assert look(known, pool=AUTOSCALED) == ([], [])
    assert minutes_blocked(known) == 1


def test_one_that_is_overdue_is_a_failure_though_some_of_its_nodes_came() -> None:
    known, long_ago = Shortages(), (NOW - timedelta(minutes=21)).isoformat()
    overdue = a_request(
        "h100-1", count=2, conditions=[said("Accepted")], creationTimestamp=long_ago
    )
    known.ordered("h100-1", "h100")
    assert look(known, overdue, came("a"), pool=AUTOSCALED) == ([], ["h100-1"])


def test_a_request_is_named_once_in_the_status() -> None:
    snapshot = seen(AUTOSCALED, ASKED)
    status = Shortages().status(snapshot.pools[0], snapshot)
    assert status is not None
    assert status.ordered == ("h100-1",)
    assert status.dollars_per_hour == 32


def test_what_goes_with_a_pool_is_no_failure_of_one_that_gets_its_name() -> None:
    known = Shortages()
    look(known, a_claim("h100-1"))
    anew = {**POOL, "metadata": {**POOL["metadata"], "uid": "another"}}
    assert look(known, pool=anew) == ([], [])
    assert known.blocked(NOW) == set()


def test_the_costs_of_nodes_without_measure_can_be_stored() -> None:
    pool = a_growing_pool(gpus=1000, price="9E")
    snapshot = seen(pool, a_claim("h100-1"), a_claim("h100-2"))
    status = Shortages().status(snapshot.pools[0], snapshot)
    assert status is not None
    assert status.dollars_per_hour == 2 * 10**12
    assert ProvisioningStatus.model_validate(status.wire()) == status
