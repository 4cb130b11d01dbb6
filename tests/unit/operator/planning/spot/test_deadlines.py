from datetime import timedelta
from typing import Any

import pytest

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.spot.deadlines import SpotRulesMaker
from plimsoll.planning.training.expected_end import time_left
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_pool, a_priority_class, a_training_job

SPOT, STEADY = {"terms": "spot"}, {"terms": "steady"}
POOLS = [a_pool("spot", SPOT, capacityType="Spot"), a_pool("steady", STEADY)]
NODES = [
    fake_node("cheap", H100, 8, labels=SPOT),
    fake_node("dear", H100, 8, labels=STEADY),
]
HOUR = 3600
START = 30 + 60 + 600
"""Seconds that an interruption costs with the usual checkpoint: save, restore, and an interval."""


def job(hours_left: float, *, seconds_to_do: float = HOUR, **spec: Any) -> Manifest:  # noqa: ANN401
    """A job of one unit a second on one H100, with so much time and work left."""
    deadline = (NOW + timedelta(hours=hours_left)).isoformat()
    work = {"amount": str(10 * HOUR), "unit": "steps", "deadline": deadline}
    manifest = a_training_job("train", work=work, spot={"allowed": True}, **spec)
    done = 10 * HOUR - seconds_to_do
    status = {"progress": {"done": str(done), "unit": "steps", "rate": 1}}
    return {**manifest, "status": status}


def on(manifest: Manifest, node: str) -> Manifest:
    return at(manifest, node, **manifest["status"])


def kept_off(*manifests: Manifest, nodes: list[Manifest] = NODES) -> dict[str, str]:
    snapshot = seen(*nodes, *POOLS, *manifests)
    builder = ProblemBuilder()
    cluster = builder.cluster(snapshot)
    found = SpotRulesMaker().rules(snapshot, cluster, snapshot.jobs, builder.eligible)
    return {name.rpartition("/")[2]: why for name, why in found.off.items()}


JUST_ENOUGH = (HOUR + START) / HOUR
"""Hours in which an hour of work can be done with one more start."""


@pytest.mark.parametrize(("spare_minutes", "kept"), [(-5, ["train"]), (-1, ["train"]), (5, [])])
def test_a_job_leaves_spot_when_an_interruption_could_make_it_late_and_not_before(
    spare_minutes: int, kept: list[str]
) -> None:
    hours = JUST_ENOUGH + spare_minutes / 60
    assert list(kept_off(on(job(hours), "cheap"))) == kept


def test_it_says_why_in_numbers() -> None:
    why = kept_off(on(job(1), "cheap"))["train"]
    assert why == (
        "1:00 of work is left, and 1:00 until the deadline: an interruption, which costs up to"
        " 0:11:30, could make it late"
    )


def test_a_job_comes_back_to_spot_only_with_time_for_a_way_there_and_back() -> None:
    once = JUST_ENOUGH + 5 / 60
    assert kept_off(on(job(once), "cheap")) == {}
    assert list(kept_off(on(job(once), "dear"))) == ["train"]
    assert kept_off(on(job(once + START / HOUR), "dear")) == {}


def test_a_job_that_waits_begins_off_spot_if_its_time_is_short() -> None:
    assert list(kept_off(job(1.0))) == ["train"]
    assert kept_off(job(5.0)) == {}


def test_where_there_is_no_room_off_spot_it_goes_on_on_spot() -> None:
    only_spot = [fake_node("cheap", H100, 8, labels=SPOT)]
    assert kept_off(on(job(1), "cheap"), nodes=only_spot) == {}
    other_type = [*only_spot, fake_node("dear", A100, 8, labels=STEADY)]
    assert kept_off(on(job(1), "cheap"), nodes=other_type) == {}


def other(name: str, node: str, *, gpus: int, **spec: Any) -> Manifest:  # noqa: ANN401
    return at(a_training_job(name, gpus=gpus, **spec), node)


def test_room_that_others_hold_is_room_only_if_they_give_way() -> None:
    assert kept_off(on(job(1), "cheap"), other("peer", "dear", gpus=8)) == {}
    high = on(job(1, priorityClassName="high"), "cheap")
    urgent = a_priority_class("high", 100)
    assert list(kept_off(high, urgent, other("peer", "dear", gpus=8))) == ["train"]


def test_the_same_room_is_not_promised_twice() -> None:
    first, second = on(job(1), "cheap"), on(job(0.9), "cheap")
    second["metadata"] = {**second["metadata"], "name": "sooner"}
    small = [NODES[0], fake_node("dear", H100, 1, labels=STEADY)]
    assert list(kept_off(first, second, nodes=small)) == ["sooner"]


def without(manifest: Manifest, **spec: Any) -> Manifest:  # noqa: ANN401
    return {**manifest, "spec": {**manifest["spec"], **spec}}


def test_only_jobs_with_a_deadline_that_may_be_on_spot_are_looked_at() -> None:
    hurried = on(job(1), "cheap")
    assert kept_off(without(hurried, spot={"allowed": False})) == {}
    assert kept_off(without(hurried, work={"amount": 10, "unit": "steps"})) == {}


def test_a_job_that_runs_and_does_not_count_its_work_stays_on_its_side() -> None:
    for node, kept in (("cheap", []), ("dear", ["train"])):
        running = on(job(1), node)
        running["status"]["startedTime"] = NOW.isoformat()
        assert list(kept_off(running)) == ["train"]
        running["status"]["progress"]["unit"] = "tokens"
        assert list(kept_off(running)) == kept


def test_without_a_measured_rate_the_jobs_own_measurements_count() -> None:
    fast = a_training_job("train", workers=(1, 2), rates={H100: {1: 1, 2: 2}})
    manifest = without(job(1), **{k: fast["spec"][k] for k in ("workers", "accelerators")})
    del manifest["status"]["progress"]["rate"]
    [view] = seen(manifest).jobs
    assert view.training is not None
    left = time_left(view.training, NOW)
    assert left is not None
    assert (left.work_seconds, left.start_seconds) == (HOUR / 2, START)


def test_a_job_that_has_ended_or_is_suspended_is_promised_no_room() -> None:
    for manifest in (without(job(1), suspend=True), on(job(1), "cheap")):
        if not manifest["spec"].get("suspend"):
            since = {"lastTransitionTime": NOW.isoformat()}
            manifest["status"]["conditions"] = [
                {"type": "Complete", "status": "True", "reason": "Completed", **since}
            ]
        assert plan_input_of(seen(*NODES, *POOLS, manifest), ProblemBuilder()).off_spot == {}


def test_the_solver_is_asked_to_place_it_off_spot() -> None:
    for hours, percent in ((1, 0), (5, 100)):
        snapshot = seen(*NODES, *POOLS, on(job(hours), "cheap"))
        plan_input = plan_input_of(snapshot, ProblemBuilder())
        assert [each.spot_percent for each in plan_input.problem.jobs] == [percent]
        assert bool(plan_input.off_spot) is (percent == 0)


@pytest.mark.parametrize("rate", ["0.001", "1e-330"])
def test_work_for_longer_than_calendars_reach_leaves_a_hundred_years(rate: str) -> None:
    deadline = (NOW + timedelta(minutes=5)).isoformat()
    work = {"amount": "1e15", "deadline": deadline}
    job = a_training_job("train", rates={H100: rate}, work=work, spot={"allowed": True})
    why = kept_off(at(job, "steady"))["train"]
    assert why.startswith("36500 days, 0:00 of work is left, and 0:05 until the deadline")
