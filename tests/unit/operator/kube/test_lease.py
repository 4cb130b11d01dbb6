from datetime import UTC, datetime, timedelta

import pytest

from plimsoll.kube.lease import LeaseTerms, Sighting, may_take, taken
from plimsoll.kube.objects.objects import Lease, LeaseSpec, ObjectMeta

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TERMS = LeaseTerms(duration_seconds=15)


def a_lease(holder: str | None, *, version: str = "1", transitions: int = 0) -> Lease:
    return Lease(
        metadata=ObjectMeta(name="plimsoll", namespace="ns", resource_version=version),
        spec=LeaseSpec(holder, 15, NOW, NOW, transitions),
    )


@pytest.mark.parametrize("holder", [None, "", "me"])
def test_a_lease_that_is_free_or_ones_own_may_be_taken(holder: str | None) -> None:
    assert may_take(Sighting(a_lease(holder), since=0), "me", now=0)


def test_anothers_lease_may_be_taken_only_after_it_has_not_changed_for_its_duration() -> None:
    seen = Sighting(a_lease("other"), since=100)
    assert not may_take(seen, "me", now=114.9)
    assert may_take(seen, "me", now=115)


def test_each_renewal_that_is_seen_starts_the_time_anew() -> None:
    seen = Sighting(a_lease("other", version="1"), since=100)
    assert seen.next(a_lease("other", version="1"), now=110).since == 100
    assert seen.next(a_lease("other", version="2"), now=110).since == 110


def test_the_holders_clock_does_not_matter() -> None:
    ancient = a_lease("other")
    ancient = Lease(ancient.metadata, LeaseSpec("other", 15, NOW - timedelta(days=9), NOW, 0))
    assert not may_take(Sighting(ancient, since=100), "me", now=101)


def test_a_renewal_keeps_when_it_was_acquired() -> None:
    later = NOW + timedelta(seconds=5)
    renewed = taken(a_lease("me", transitions=3), "me", terms=TERMS, wall_time=later)
    assert renewed.spec == LeaseSpec("me", 15, NOW, later, 3)


def test_a_change_of_holder_is_counted() -> None:
    later = NOW + timedelta(seconds=60)
    won = taken(a_lease("other", transitions=3), "me", terms=TERMS, wall_time=later)
    assert won.spec == LeaseSpec("me", 15, later, later, 4)


@pytest.mark.parametrize("terms", [(10, 10.0, 2.0), (15, 10.0, 10.0), (5, 10.0, 2.0)])
def test_terms_without_a_margin_are_refused(terms: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="retry < renew deadline < duration"):
        LeaseTerms(*terms)
