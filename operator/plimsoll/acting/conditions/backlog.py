"""Report when offline inference will be done, and how late: in its status, and as an event.

The remaining work is done at the rate of the replicas that have a place; no more are allowed, or
there is no room for them. After the deadline it goes on with as many replicas as allowed.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from plimsoll.acting.conditions.conditions import Fact, whole_second, without
from plimsoll.acting.step import Turn
from plimsoll.api.inference_job import BacklogStatus, InferenceJob, InferenceJobStatus
from plimsoll.api.parts.conditions import condition
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.parts.roles import ANY_SIZE, Role
from plimsoll.api.values.durations import duration_text
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.serving.autoscaling import shown
from plimsoll.planning.serving.replicas import Capacities, capacities
from plimsoll.vocabulary.reasons import Reason

MEETS_DEADLINE: Final = "MeetsDeadline"
LEAST_LATE: Final = timedelta(minutes=1)
LEAST_LATE_SHARE: Final = 0.05
"""A delay below this share of the time left counts neither as late nor as a change."""
MINUTE: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(days=3650)
_NO_END: Final = "load.deadline has passed, work is left, and no replica has a place"


def with_backlog(
    status: InferenceJobStatus, job: InferenceJob, view: JobView, turn: Turn
) -> InferenceJobStatus:
    """The status with the work left before the deadline, and when it will be done."""
    deadline, demand = job.spec.load.deadline, view.demand
    if deadline is None:
        others = without(status.conditions, MEETS_DEADLINE)
        return status.model_copy(update={"backlog": None, "conditions": others})
    if demand is None or not demand.backlog:
        return status
    left = sum(sum(each.values()) for each in demand.backlog.values())
    ends = None
    if left > 0 and (found := _seconds(job, status, demand.backlog)) is not None:
        ends = _steady(status.backlog, turn.now + min(timedelta(seconds=found), LONGEST), turn.now)
    is_late = ends is not None and ends - _margin(ends, turn.now) > deadline
    backlog = BacklogStatus(
        left=shown(left),
        expected_completion=ends,
        late_by=ends - deadline if ends is not None and is_late else None,
    )
    return status.model_copy(update={"backlog": backlog})


def backlog_facts(view: JobView, status: InferenceJobStatus, turn: Turn) -> tuple[Fact, ...]:
    """Whether the backlog in the status will be done by the deadline.

    No fact where the last report still holds. An event when a service becomes late.
    """
    job, demand, backlog = view.inference, view.demand, status.backlog
    if job is None or backlog is None or demand is None or not demand.backlog:
        return ()
    kept = Fact.true(MEETS_DEADLINE, Reason.DEADLINE_KEPT)
    was_late = _was_late(status)
    if backlog.left == 0:
        return () if was_late else (kept,)
    why = _lateness(job, status, backlog, turn.now)
    if not why:
        return () if backlog.expected_completion is None else (kept,)
    late = Fact.false(MEETS_DEADLINE, Reason.DEADLINE_MISSED, why)
    return (late if was_late else late.with_event(warning=True),)


def _was_late(status: InferenceJobStatus) -> bool:
    found = condition(status.conditions, MEETS_DEADLINE)
    return found is not None and found.status == "False"


def _seconds(
    job: InferenceJob, status: InferenceJobStatus, backlog: Mapping[str, Mapping[str, float]]
) -> float | None:
    """How long the replicas with a place need; None if a role has none of known capacity."""
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
    """The share of all remaining work that a replica does per second, dividing its time by size."""
    seconds = 0.0
    for bucket, amount in left.items():
        kind = place.accelerator_type
        carries = known.get((kind, bucket)) or known.get((kind, ANY_SIZE))
        if amount > 0 and not carries:
            return 0.0
        seconds += amount / carries if carries else 0.0
    return 1 / seconds if seconds else 0.0


def _steady(before: BacklogStatus | None, ends: datetime, now: datetime) -> datetime:
    """The end in whole minutes; as reported before while it stays about the same."""
    last = before.expected_completion if before is not None else None
    if last is not None and abs(ends - last) <= _margin(ends, now):
        return last
    whole = whole_second(ends).replace(second=0)
    return whole if whole >= ends else whole + MINUTE


def _margin(ends: datetime, now: datetime) -> timedelta:
    return max(LEAST_LATE, (ends - now) * LEAST_LATE_SHARE)


def _lateness(
    job: InferenceJob, status: InferenceJobStatus, backlog: BacklogStatus, now: datetime
) -> str:
    """Why the deadline will be missed; "" if it will not be, as far as is known."""
    deadline, ends = job.spec.load.deadline, backlog.expected_completion
    if ends is None:
        is_over = deadline is not None and now >= deadline
        return _NO_END if is_over else ""
    if backlog.late_by is None:
        return ""
    count = len(status.placement.assignments) if status.placement else 0
    return (
        f"done at about {ends:%Y-%m-%d %H:%M} UTC, {duration_text(backlog.late_by)} after"
        f" load.deadline, with {count} replicas; at most {_most(job.spec.roles)} are allowed"
    )


def _most(roles: Iterable[Role]) -> int:
    return sum(role.replicas.max for role in roles)
