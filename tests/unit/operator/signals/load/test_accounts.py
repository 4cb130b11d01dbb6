from datetime import timedelta

import pytest

from plimsoll.api.inference_job import BucketLoad, PoolReplicas, RoleStatus, UnservedLoad
from plimsoll.api.parts.roles import ANY_SIZE
from plimsoll.observe.measured.demand import Unserved
from plimsoll.signals.load.foresight.accounts import MOST_SECONDS, Accounts, Serving, serving_now
from plimsoll_devcluster.gpu_models import H100
from plimsoll_placement.estimate.forecast.account import AIM, LEAST, MOST
from support.clusters.seen import NOW
from support.objects.load_results import WINDOW, a_service

ALLOWED = 0.01
AIMED = AIM * ALLOWED
"""What is aimed at while nothing is known."""
LOOK = timedelta(minutes=1)
HOUR = 60


def after(
    *loads: float, capacity: float | None = 100, before: Unserved | None = None, gap: int = 1
) -> Accounts:
    """What is kept after looks a minute, or several, apart."""
    accounts = Accounts(WINDOW)
    for look, load in enumerate(loads):
        accounts.look("key", load, Serving(capacity, before), NOW + look * gap * LOOK)
    return accounts


def share_after(*loads: float, before: Unserved | None = None) -> float:
    return after(*loads, before=before).share("key", ALLOWED)


def test_without_data_the_allowed_share_is_aimed_at() -> None:
    assert Accounts(WINDOW).share("key", ALLOWED) == AIMED
    assert share_after(150) == AIMED
    assert after(*[150] * HOUR, capacity=None).share("key", ALLOWED) == AIMED
    assert after(*[150] * HOUR, gap=3).share("key", ALLOWED) == AIMED


def test_less_may_be_unserved_after_more_was_and_the_other_way_round() -> None:
    assert share_after(*[101.5] * 3 * HOUR) < AIMED
    assert share_after(*[99] * 3 * HOUR) > AIMED


@pytest.mark.parametrize("load", [1e15, 5e-324, 0.0])
def test_nothing_takes_the_share_far(load: float) -> None:
    days = 10 * 24 * HOUR
    assert LEAST * ALLOWED <= share_after(*[load] * days) <= MOST * ALLOWED


def test_one_absurd_load_does_not_count_for_weeks() -> None:
    accounts = after(*[90.0] * 2 * HOUR, 1e15, *[90.0] * 2 * HOUR)
    found = accounts.unserved("key")
    assert found is not None
    assert found.load < 100
    assert found.share < 0.05


def test_while_nothing_is_ready_no_price_is_to_blame() -> None:
    assert after(*[50] * HOUR, capacity=0).share("key", ALLOWED) == AIMED


def test_a_restart_goes_on_from_what_is_written() -> None:
    loads = [100.5] * 5 * HOUR
    through = after(*loads, *loads).share("key", ALLOWED)
    written = after(*loads).unserved("key")
    assert share_after(*loads, before=written) == pytest.approx(through, rel=0.01)


@pytest.mark.parametrize("share", [7.0, -3.0])
def test_what_is_written_may_be_anything(share: float) -> None:
    found = share_after(50, before=Unserved(share, 1e15, 1e15))
    assert LEAST * ALLOWED <= found <= MOST * ALLOWED
    kept = after(50, before=Unserved(share, 50, 1e15)).unserved("key")
    assert kept is not None
    assert kept.seconds == pytest.approx(MOST_SECONDS)
    assert 0 <= kept.share <= 1


def serving(ready: int, load: float, **fields: object) -> Serving:
    """What serves by the status: so many ready replicas of four at most, each carrying ten."""
    wanted = BucketLoad.model_validate(
        {"bucket": ANY_SIZE, "wanted": 20, "since": NOW, "unserved": fields.get("unserved")}
    )
    pool = PoolReplicas(pool="p", accelerator_type=H100, ready=ready)
    job = a_service()
    role = RoleStatus(name="server", pools=(pool,), loads=(wanted,))
    update: dict[str, object] = {"status": job.status.model_copy(update={"roles": (role,)})}
    if "replicas" in fields:
        update["spec"] = job.spec.model_copy(update={"replicas": fields["replicas"]})
    job = job.model_copy(update=update)
    return serving_now(job, job.spec.roles[0], {ANY_SIZE: load})[ANY_SIZE]


def test_what_serves_is_what_the_ready_replicas_carry() -> None:
    assert serving(2, 50).capacity == pytest.approx(20)
    assert serving(0, 50).capacity == 0


def test_what_no_price_decides_is_not_counted() -> None:
    assert serving(2, 50, replicas=2).capacity is None
    assert serving(4, 50).capacity is None
    assert serving(2, 0).capacity is None


def test_what_was_written_is_read() -> None:
    written = UnservedLoad.model_validate(
        {"percent": "1.5", "load": "40", "seconds": 3600, "time": NOW}
    )
    assert serving(2, 50, unserved=written).before == Unserved(0.015, 40, 3600)
