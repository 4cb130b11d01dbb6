"""How long nodes take to start, as seen."""

from datetime import timedelta

from plimsoll.planning.provisioning.start_times import seen_start_time, start_time
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen
from support.objects.bought_nodes import a_claim, a_growing_pool

POOL = a_growing_pool(provisioning={"startTime": "5m"})


def arrived(name: str, at: str) -> Manifest:
    """A node that was ordered at 11:58, and took pods at that time."""
    claim = a_claim(name, node=name, arrived=True)
    claim["status"]["conditions"][0]["lastTransitionTime"] = at
    return claim


def usual(*manifests: Manifest) -> timedelta:
    snapshot = seen(*manifests)
    return start_time(snapshot.pools[0], snapshot)


def test_nothing_seen_is_what_the_pool_says() -> None:
    assert usual(POOL) == timedelta(minutes=5)
    assert usual(POOL, a_claim("coming")) == timedelta(minutes=5)


def test_what_was_seen_is_the_median() -> None:
    took = [
        arrived("a", "2026-11-21T11:59:00Z"),
        arrived("b", "2026-11-21T12:01:00Z"),
        arrived("c", "2026-11-21T12:30:00Z"),
    ]
    assert usual(POOL, *took) == timedelta(minutes=3)


def test_a_clock_that_goes_back_is_not_believed() -> None:
    assert usual(POOL, arrived("a", "2026-11-21T11:00:00Z")) == timedelta(minutes=5)


def test_what_was_seen_before_is_kept_until_the_pool_changes() -> None:
    pool: Manifest = {**POOL, "metadata": {**POOL["metadata"], "generation": 3}}
    said = {"provisioning": {"startTime": "9m"}}
    known: Manifest = {**pool, "status": {"observedGeneration": 3, **said}}
    changed: Manifest = {**pool, "status": {"observedGeneration": 2, **said}}
    assert usual(known) == timedelta(minutes=9)
    assert usual(changed) == timedelta(minutes=5)
    assert seen_start_time(seen(changed).pools[0], seen(changed)) is None
