"""When is offline inference done, and how late is that: what its status and an event say of it.

What is left is done as fast as the replicas carry it that have a place; more than is allowed, or
than there is room for, is not to be had. Past the deadline it goes on with as many as there may be.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from plimsoll.acting.conditions.conditions import Fact, told, whole_second
from plimsoll.acting.step import JobEvent, Turn
from plimsoll.api.inference_job import BacklogStatus, InferenceJob, InferenceJobStatus
from plimsoll.api.parts.conditions import condition
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.parts.roles import ANY_SIZE, Role
from plimsoll.api.values.durations import duration_text
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.serving.autoscaling import shown
from plimsoll.planning.serving.replicas import Capacities, capacities
from plimsoll.telemetry import Reason

MEETS_DEADLINE: Final = "MeetsDeadline"
LEAST_LATE: Final = timedelta(minutes=1)
LEAST_LATE_SHARE: Final = 0.05
"""Less than this part of the time that is left is neither late nor news."""
MINUTE: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(days=3650)


def with_backlog_told(
    status: InferenceJobStatus, job: InferenceJob, view: JobView, turn: Turn
) -> InferenceJobStatus:
    """The status with what is left to do by the deadline, and when that is done."""
    deadline, demand = job.spec.load.deadline, view.demand
    if deadline is None:
        others = tuple(each for each in status.conditions if each.type != MEETS_DEADLINE)
        return status.model_copy(update={"backlog": None, "conditions": others})
    if demand is None or not demand.backlog:
        return status
    left = sum(sum(each.values()) for each in demand.backlog.values())
    ends = None
    if left > 0 and (found := _seconds(job, status, demand.backlog)) is not None:
        ends = _steady(status.backlog, turn.now + min(timedelta(seconds=found), LONGEST), turn.now)
    is_late = ends is not None and ends > deadline + _margin(ends, turn.now)
    backlog = BacklogStatus(
        left=shown(left),
        expected_completion=ends,
        late_by=ends - deadline if ends is not None and is_late else None,
    )
    status = status.model_copy(update={"backlog": backlog})
    fact = _fact(job, status, backlog, turn.now)
    return status if fact is None else _with_fact(status, view, turn, fact)


def lateness_events(before: InferenceJobStatus, after: InferenceJobStatus) -> tuple[JobEvent, ...]:
    """The event that a service has become late; of one that is, no other."""
    was, now = (condition(each.conditions, MEETS_DEADLINE) for each in (before, after))
    if now is None or now.status != "False" or (was is not None and was.status == "False"):
        return ()
    return (JobEvent(Reason.DEADLINE_MISSED, now.message, warning=True),)


def _seconds(
    job: InferenceJob, status: InferenceJobStatus, backlog: Mapping[str, Mapping[str, float]]
) -> float | None:
    """How long the replicas with a place take; None where a role has none that is known."""
    placement = status.placement
    places = placement.assignments if placement else ()
    times: list[float] = []
    for role in job.spec.roles:
        left = backlog.get(role.name, {})
        if sum(left.values()) <= 0:
            continue
        mine = [place for place in places if place.role == role.name]
        rate = sum(_rate(capacities(job, role), left, place) for place in mine)
        if rate <= 0:
            return None
        times.append(1 / rate)
    return max(times, default=None)


def _rate(known: Capacities, left: Mapping[str, float], place: Assignment) -> float:
    """Which part of all that is left a replica does in a second; it shares its time."""
    seconds = 0.0
    for bucket, amount in left.items():
        kind = place.accelerator_type
        carries = known.get((kind, bucket)) or known.get((kind, ANY_SIZE))
        if amount > 0 and not carries:
            return 0.0
        seconds += amount / carries if carries else 0.0
    return 1 / seconds if seconds else 0.0


def _steady(before: BacklogStatus | None, ends: datetime, now: datetime) -> datetime:
    """The end in whole minutes; as told before while it is about that."""
    told_before = before.expected_completion if before is not None else None
    if told_before is not None and abs(ends - told_before) <= _margin(ends, now):
        return told_before
    whole = whole_second(ends).replace(second=0)
    return whole if whole >= ends else whole + MINUTE


def _margin(ends: datetime, now: datetime) -> timedelta:
    return max(LEAST_LATE, (ends - now) * LEAST_LATE_SHARE)


def _fact(
    job: InferenceJob, status: InferenceJobStatus, backlog: BacklogStatus, now: datetime
) -> Fact | None:
    """What is to be said of the deadline; None where what was said stays true."""
    deadline, ends = job.spec.load.deadline, backlog.expected_completion
    assert deadline is not None  # noqa: S101 - the caller has seen it
    if backlog.left == 0:
        was_late = condition(status.conditions, MEETS_DEADLINE)
        is_over = was_late is not None and was_late.status == "False"
        return None if is_over else Fact.true(MEETS_DEADLINE, Reason.DEADLINE_KEPT)
    if ends is None and now < deadline:
        return None
    if ends is None:
        text = "load.deadline is over, there is work left, and no replica has a place"
        return Fact.false(MEETS_DEADLINE, Reason.DEADLINE_MISSED, text)
    if backlog.late_by is None:
        return Fact.true(MEETS_DEADLINE, Reason.DEADLINE_KEPT)
    return Fact.false(
        MEETS_DEADLINE, Reason.DEADLINE_MISSED, _sentence(job, status, ends, backlog.late_by)
    )


def _sentence(
    job: InferenceJob, status: InferenceJobStatus, ends: datetime, late: timedelta
) -> str:
    placement = status.placement
    count = len(placement.assignments) if placement else 0
    return (
        f"done at about {ends:%Y-%m-%d %H:%M} UTC, {duration_text(late)} after load.deadline, by"
        f" {count} replicas; {_most(job.spec.roles)} are allowed"
    )


def _most(roles: Iterable[Role]) -> int:
    return sum(role.replicas.max for role in roles)


def _with_fact(
    status: InferenceJobStatus, view: JobView, turn: Turn, fact: Fact
) -> InferenceJobStatus:
    """The status with the condition, and what it said before as its reason and message."""
    said = condition(status.conditions, fact.type)
    holds = "True" if fact.holds else "False"
    if said is not None and (said.status, said.message) == (holds, fact.message):
        return status
    kept = {"reason": status.reason, "message": status.message}
    kept_generation = {"observed_generation": status.observed_generation}
    return told(status, view, turn.now, [fact]).model_copy(update={**kept, **kept_generation})
