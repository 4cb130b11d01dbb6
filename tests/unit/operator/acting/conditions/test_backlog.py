"""What offline inference says of its deadline."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from plimsoll.acting.conditions.offered_load import with_load
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.api.parts.conditions import condition
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, a_demand, at, seen
from support.objects.job_manifests import an_inference_job

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def a_service(*, due: datetime = NOW + HOUR, nodes: int = 2, **status: Any) -> Manifest:  # noqa: ANN401
    """Replicas that each do ten requests a second, some of four allowed."""
    role = {"replicas": {"min": 0, "max": 4}}
    query = {"name": "Backlog", "query": "backlog"}
    load = {"deadline": due.isoformat(), "queries": [query]}
    job = an_inference_job("s", loads={H100: 10}, role=role, load=load)
    return at(job, *["n"] * nodes, **status)


def reported(job: Manifest, left: float, *, now: datetime = NOW) -> tuple[InferenceJobStatus, Step]:
    """What is said with so many requests left."""
    demand = a_demand("s", load=40, backlog={"server": {"any": left}})
    snapshot = seen(job, now=now, demands=[demand])
    [view] = snapshot.jobs
    assert view.inference is not None
    turn = Turn(snapshot, Occupancy(snapshot))
    step = with_load(Step(view, view.inference.status), turn)
    assert isinstance(step.status, InferenceJobStatus)
    return step.status, step


def meets(status: InferenceJobStatus) -> tuple[str, str] | None:
    found = condition(status.conditions, "MeetsDeadline")
    return None if found is None else (found.status, found.reason)


def written(job: Manifest, status: InferenceJobStatus) -> Manifest:
    return {**job, "status": status.wire()}


def test_what_is_left_and_when_it_is_done_is_reported() -> None:
    status, step = reported(a_service(), 36_000)
    assert status.backlog is not None
    assert status.backlog.left == 36_000
    assert status.backlog.expected_completion == NOW + 30 * MINUTE
    assert (status.backlog.late_by, meets(status)) == (None, ("True", "DeadlineKept"))
    assert step.events == ()


def test_it_says_before_the_deadline_how_late_it_will_be() -> None:
    status, step = reported(a_service(), 108_000)
    assert status.backlog is not None
    assert status.backlog.late_by == 30 * MINUTE
    assert meets(status) == ("False", "DeadlineMissed")
    [event] = step.events
    assert (event.reason, event.warning) == ("DeadlineMissed", True)
    assert "30m after load.deadline, with 2 replicas; at most 4 are allowed" in event.message


def test_past_the_deadline_it_goes_on_and_is_not_of_unknown_load() -> None:
    status, _ = reported(a_service(due=NOW - HOUR), 36_000)
    assert status.backlog is not None
    assert status.backlog.late_by == HOUR + 30 * MINUTE
    found = condition(status.conditions, "LoadKnown")
    assert found is not None
    assert found.status == "True"


def test_the_event_of_being_late_comes_once() -> None:
    job = a_service(due=NOW - HOUR)
    status, _ = reported(job, 72_000)
    later, step = reported(written(job, status), 36_000, now=NOW + 10 * MINUTE)
    assert later.backlog != status.backlog
    assert step.events == ()


def test_what_is_reported_stays_while_it_is_about_that() -> None:
    job = a_service()
    status, _ = reported(job, 36_000)
    later, _ = reported(written(job, status), 35_500, now=NOW + MINUTE / 2)
    assert later.backlog is not None
    assert status.backlog is not None
    assert later.backlog.expected_completion == status.backlog.expected_completion


def test_without_a_place_past_the_deadline_it_is_missed_without_an_end() -> None:
    status, _ = reported(a_service(due=NOW - HOUR, nodes=0), 10)
    assert status.backlog is not None
    assert (status.backlog.expected_completion, meets(status)) == (
        None,
        ("False", "DeadlineMissed"),
    )


def test_once_nothing_is_left_what_was_late_stays_so() -> None:
    job = a_service(due=NOW - HOUR)
    late, _ = reported(job, 36_000)
    done, _ = reported(written(job, late), 0)
    assert done.backlog is not None
    assert (done.backlog.left, done.backlog.late_by) == (Decimal(0), None)
    assert meets(done) == ("False", "DeadlineMissed")
    in_time, _ = reported(a_service(), 0)
    assert meets(in_time) == ("True", "DeadlineKept")


def test_the_reason_of_the_service_stays_what_it_was() -> None:
    status, _ = reported(a_service(reason="Running", message="all is well"), 108_000)
    assert (status.reason, status.message) == ("Running", "all is well")


def test_without_a_deadline_nothing_is_said_of_it() -> None:
    job = a_service()
    late, _ = reported(job, 108_000)
    del job["spec"]["load"]["deadline"]
    status, _ = reported(written(job, late), 108_000)
    assert (status.backlog, meets(status)) == (None, None)


def test_a_deadline_may_be_the_last_day_that_there_is() -> None:
    status, _ = reported(a_service(due=datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)), 3600)
    assert meets(status) == ("True", "DeadlineKept")


def test_how_late_it_is_can_be_stored_however_long_ago_it_was_due() -> None:
    job = a_service(due=datetime(2000, 1, 1, tzinfo=UTC))
    status, _ = reported(job, 3600)
    assert status.backlog is not None
    assert status.backlog.late_by is not None
    assert InferenceJobStatus.model_validate(status.wire()) == status
