import math
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from plimsoll.api.inference_job import BucketLoad, InferenceJob
from plimsoll.observe.measured.demand import BucketDemand, RoleDemand
from plimsoll.planning.serving.autoscaling import MOST, scaled_loads, shown, stepped
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, serving
from support.objects.job_manifests import an_inference_job

STEADY = BucketDemand(observed=100, foreseen=100, least_of_late=100, most_of_late=100)


def scaled(
    before: float | None,
    *,
    now: datetime = NOW,
    scaling: Manifest | None = None,
    **load: float,
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


def test_the_first_load_is_wanted_as_it_is_foreseen() -> None:
    found = scaled(None, observed=80, foreseen=100, most_of_late=math.inf)
    assert (found.observed, found.wanted, found.since) == (80, stepped(100), NOW)


def test_more_is_wanted_once_it_was_foreseen_all_through_the_window() -> None:
    assert scaled(50).wanted == stepped(100)
    assert scaled(50, least_of_late=49).wanted == 50


def test_less_is_wanted_once_nothing_more_was_foreseen_in_the_window() -> None:
    assert scaled(200).wanted == stepped(100)
    assert scaled(200, most_of_late=190).wanted == stepped(190)
    assert scaled(200, most_of_late=math.inf).wanted == 200


def test_what_changes_little_is_not_written_anew() -> None:
    found = scaled(float(stepped(100)), observed=99.9, foreseen=99)
    assert found.wanted == stepped(100)
    assert found.since == NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    ("before", "percent", "wanted"), [(50, 20, 60), (50, 10, 60), (50, 500, stepped(100))]
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
    assert scaled(50, scaling=scaling, now=NOW + timedelta(hours=1)).wanted == 75


@pytest.mark.parametrize("load", [1e-5, 0.3, 1, 7.77, 100, 12345.6, 1e9])
def test_steps_are_fine_and_upward(load: float) -> None:
    assert 0.999 * load <= float(stepped(load)) <= 1.023 * load
    assert stepped(float(stepped(load))) <= stepped(load * 1.023)


@pytest.mark.parametrize("load", [0, 1e-12])
def test_next_to_nothing_is_nothing(load: float) -> None:
    assert stepped(load) == shown(load) == 0


@pytest.mark.parametrize("load", [1e16, 1e300])
def test_no_load_is_larger_than_there_can_be(load: float) -> None:
    assert stepped(load) == stepped(MOST)
    assert shown(load) == shown(MOST)
