from dataclasses import replace
from typing import Any

from plimsoll.acting.pacing import (
    MOST_NEWS_OF_ONE,
    MOST_REPORTED_OF_ONE,
    ReportingPace,
    due_changes,
    most_in_flight,
)
from plimsoll.acting.step import Step
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Admit, Change, Migrate, Preempt
from plimsoll.vocabulary.reasons import Reason
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_training_job


def admit(name: str) -> Change:
    return Admit(JobName(name), (), Reason.ADMITTED, "")


def preempt(name: str) -> Change:
    return Preempt(JobName(name), Reason.PREEMPTED, "")


def migrate(name: str) -> Change:
    return Migrate(JobName(name), (), Reason.MIGRATED, "")


def due(*changes: Change, busy: str = "", room: int = 9) -> list[str]:
    made, _ = due_changes(changes, is_busy=lambda n: n == busy, room=room)
    return [each.job for each in made]


def test_what_frees_capacity_goes_before_what_takes_it() -> None:
    assert due(admit("a"), migrate("b"), admit("c"), preempt("d")) == ["b", "d", "a", "c"]


def test_only_what_takes_capacity_is_put_off() -> None:
    assert due(admit("a"), admit("b"), admit("c"), room=2) == ["a", "b"]
    assert due(preempt("a"), migrate("b"), admit("c"), room=1) == ["a", "b"]
    assert due(admit("a"), room=-3) == []


def test_nothing_is_done_while_a_job_that_gives_something_up_is_being_written() -> None:
    assert due(preempt("a"), admit("b"), busy="a") == []


def test_what_gives_something_up_begins_no_other_write_until_all_of_it_is_idle() -> None:
    changes = [preempt("a"), migrate("b"), admit("c")]
    assert due_changes(changes, is_busy=lambda n: n == "a", room=9) == ([], {"a", "b"})
    assert due_changes(changes, is_busy=lambda n: n == "c", room=9) == (changes, set())


def test_a_job_that_is_being_written_and_waits_holds_up_nobody() -> None:
    assert due(admit("a"), admit("b"), busy="a") == ["a", "b"]


def test_of_thousands_of_jobs_a_quarter_may_be_written_at_a_time() -> None:
    assert [most_in_flight(jobs) for jobs in (0, 1000, 1024, 5000)] == [256, 256, 256, 1250]


def a_step(name: str, namespace: str = "team", **writes: Any) -> Step:  # noqa: ANN401 - fields of a step
    job = a_training_job(name)
    job["metadata"]["namespace"] = namespace
    (view,) = seen(job).jobs
    status = view.resource.status.model_copy(update={"message": "waits"})
    return Step(view, status, **writes)


def test_so_many_jobs_of_a_namespace_are_reported_at_a_time() -> None:
    pace = ReportingPace()
    steps = [a_step(f"job-{number}") for number in range(MOST_REPORTED_OF_ONE)]
    for step in steps:
        assert pace.has_room(step)
        pace.begin(step)
    assert not pace.has_room(a_step("one-more"))
    assert pace.has_room(a_step("other", namespace="other"))
    pace.end(steps[0])
    assert pace.has_room(a_step("one-more"))


def a_start(name: str) -> Step:
    step = a_step(name)
    return replace(step, status=step.status.model_copy(update={"reason": "Running"}))


def test_what_is_news_of_a_job_waits_for_no_repetitions() -> None:
    pace = ReportingPace()
    for number in range(MOST_REPORTED_OF_ONE):
        pace.begin(a_step(f"job-{number}"))
    assert pace.has_room(a_start("starts"))
    for number in range(MOST_NEWS_OF_ONE):
        pace.begin(a_start(f"starting-{number}"))
    assert not pace.has_room(a_start("starts"))


def test_what_changes_places_or_pods_is_never_held_back() -> None:
    pace = ReportingPace()
    for number in range(MOST_REPORTED_OF_ONE):
        pace.begin(a_step(f"job-{number}"))
    assert pace.has_room(a_step("makes", create=({"kind": "Pod"},)))
    (placed,) = seen(at(a_training_job("placed"), "node")).jobs
    waits = a_step("placed")
    assert pace.has_room(Step(waits.job, placed.resource.status))
    assert pace.has_room(Step(placed, waits.status))
