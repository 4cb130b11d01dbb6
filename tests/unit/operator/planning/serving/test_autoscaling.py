import math
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from plimsoll.api.inference_job import BucketLoad, InferenceJob, RoleStatus
from plimsoll.observe.measured.demand import BucketDemand, RoleDemand, Unserved
from plimsoll.planning.serving.autoscaling import MOST, scaled_loads, shown, stepped
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, serving
from support.objects.job_manifests import an_inference_job

STEADY = BucketDemand(observed=99, foreseen=99, worth=99, least_of_late=99, most_of_late=99)
HOUR = timedelta(hours=1)


def scaled(
    before: float | None,
    *,
    now: datetime = NOW,
    scaling: Manifest | None = None,
    **load: float | Unserved,
) -> BucketLoad:
    """What becomes of a wanted load; a replica carries 10, and nothing was changed for an hour."""
    manifest = an_inference_job("s", loads={"L4": 10}, scaling=scaling or {})
    manifest["metadata"] |= {"uid": "u", "namespace": "team"}
    if before is not None:
        manifest = serving(manifest, server=before)
    job = InferenceJob.model_validate(manifest)
    demand = RoleDemand("server", (replace(STEADY, **load),))
    [found] = scaled_loads(job, job.spec.roles[0], demand, now)
    return found


def scaled_again(status: RoleStatus, unserved: Unserved, now: datetime) -> BucketLoad:
    """What becomes of it with this status of the role."""
    manifest = an_inference_job("s", loads={"L4": 10})
    manifest["metadata"] |= {"uid": "u", "namespace": "team"}
    job = InferenceJob.model_validate(manifest)
    job = job.model_copy(update={"status": job.status.model_copy(update={"roles": (status,)})})
    demand = RoleDemand("server", (replace(STEADY, unserved=unserved),))
    [found] = scaled_loads(job, job.spec.roles[0], demand, now)
    return found


def test_the_first_load_is_wanted_as_it_is_foreseen() -> None:
    found = scaled(None, observed=80, worth=99, most_of_late=math.inf)
    assert (found.observed, found.wanted, found.since) == (80, 100, NOW)


def test_more_is_wanted_once_it_was_foreseen_all_through_the_window() -> None:
    assert scaled(50).wanted == 100
    assert scaled(50, least_of_late=49).wanted == 50


def test_less_is_wanted_once_nothing_more_was_foreseen_in_the_window() -> None:
    assert scaled(200).wanted == 100
    assert scaled(200, most_of_late=190).wanted == 190
    assert scaled(200, most_of_late=math.inf).wanted == 200


def test_what_changes_little_is_not_written_anew() -> None:
    found = scaled(100, observed=99.9, foreseen=92, worth=92, least_of_late=92, most_of_late=92)
    assert found.wanted == 100
    assert found.since == NOW - HOUR


@pytest.mark.parametrize(
    ("before", "percent", "wanted"), [(50, 20, 60), (50, 10, 60), (50, 500, 100)]
)
def test_a_limit_lets_a_share_be_added_in_a_period_and_one_replica_at_least(
    before: float, percent: int, wanted: float
) -> None:
    assert scaled(before, scaling={"up": {"maxPercent": percent}}).wanted == wanted


def test_a_limit_lets_a_share_go_in_a_period() -> None:
    assert scaled(200, scaling={"down": {"maxPercent": 25}}).wanted == 150


def test_within_the_period_nothing_more_changes() -> None:
    scaling = {"up": {"maxPercent": 50, "period": "2h"}}
    assert scaled(50, scaling=scaling).wanted == 50
    assert scaled(50, scaling=scaling, now=NOW + HOUR).wanted == 75


@pytest.mark.parametrize("load", [1e-5, 0.3, 1, 7.77, 100, 12345.6, 1e9])
def test_steps_are_fine_and_upward(load: float) -> None:
    assert 0.999 * load <= float(stepped(load)) <= 1.023 * load
    assert stepped(float(stepped(load))) <= stepped(load * 1.023)


@pytest.mark.parametrize("unit", [1, 10, 1 / 3, 0.1, 7.7, 1e-5, 12345.6])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 29, 64])
def test_whole_replicas_stay_as_many(unit: float, count: int) -> None:
    wanted = float(stepped(count * unit, unit))
    assert math.ceil(wanted / unit) == count
    assert stepped(wanted, unit) == stepped(count * unit, unit)
    assert stepped((count - 0.5) * unit, unit) == stepped(count * unit, unit)
    assert stepped((count + 0.009) * unit, unit) == stepped(count * unit, unit)


def test_many_replicas_are_wanted_in_steps() -> None:
    assert stepped(1000.5, 1) == stepped(1000.5)


def test_what_was_unserved_is_written_once_an_hour() -> None:
    first = scaled(None, unserved=Unserved(0.012345, 81.234, 7200.4))
    assert first.unserved is not None
    written = first.unserved
    assert (written.percent, written.load) == (Decimal("1.23"), Decimal("81.2"))
    assert (written.seconds, written.time) == (7200, NOW)
    role = RoleStatus(name="server", loads=(first,))
    for age, unserved in ((HOUR - timedelta(seconds=1), written), (HOUR, None)):
        found = scaled_again(role, Unserved(0.5, 80, 7300), NOW + age)
        assert (found.unserved == written) == (unserved is not None)


@pytest.mark.parametrize("load", [0, 1e-12])
def test_next_to_nothing_is_nothing(load: float) -> None:
    assert stepped(load) == shown(load) == 0


@pytest.mark.parametrize("load", [1e16, 1e300])
def test_no_load_is_larger_than_there_can_be(load: float) -> None:
    assert stepped(load) == stepped(MOST)
    assert shown(load) == shown(MOST)
