"""Who waits, and for what."""

from collections.abc import Mapping
from datetime import UTC, datetime

from plimsoll.api.parts.conditions import condition
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll_console.messages.queue import WaitingJob, WaitingLine
from plimsoll_console.views.asked import asked_by, least_milli
from plimsoll_console.views.holdings import is_waiting
from plimsoll_console.views.sight import Sight, key_of
from plimsoll_console.views.stamps import Stamp

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def waiting_in(snapshot: Snapshot) -> list[JobView]:
    """The waiting jobs by priority, then by age."""
    return sorted(filter(is_waiting, snapshot.jobs), key=_order)


def line_of(sight: Sight, stamp: Stamp, starts: Mapping[JobName, datetime]) -> WaitingLine:
    """Who waits, with when they are expected to start."""
    waiting = waiting_in(sight.snapshot)
    jobs = tuple(
        _waiting(sight, view, number, starts.get(view.name))
        for number, view in enumerate(waiting, start=1)
        if sight.job(view)
    )
    hidden = [view for view in waiting if not sight.job(view)]
    milli = sum(least_milli(asked_by(view.resource)) for view in hidden)
    return WaitingLine(*stamp, jobs=jobs, others=len(hidden), others_milli=milli)


def _order(view: JobView) -> tuple[float, datetime, str]:
    created = view.resource.metadata.creation_timestamp
    lowest = float("inf")
    return lowest if view.priority is None else -view.priority, created or _LONG_AGO, view.name


def _waiting(
    sight: Sight, view: JobView, position: int, expected_start: datetime | None
) -> WaitingJob:
    status, asked = view.resource.status, asked_by(view.resource)
    return WaitingJob(
        key=key_of(view),
        position=position,
        queue=view.resource.spec.queue,
        priority=view.priority,
        since=_since(view),
        reason=status.reason,
        message=sight.text(status.message),
        asked=asked,
        least_milli=least_milli(asked),
        expected_start=expected_start,
    )


def _since(view: JobView) -> datetime | None:
    """Since when a job has waited: since it lost its place, otherwise since it was created."""
    admitted = condition(view.resource.status.conditions, "Admitted")
    if admitted is not None and admitted.status != "True":
        return admitted.last_transition_time
    return view.resource.metadata.creation_timestamp
