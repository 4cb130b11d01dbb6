"""What a status says of what a job was admitted with, and whether its spec is in force.

The first is written with the place, and again when the job may have something else. The second is
the condition `Accepted`. It is there once it has been False while the job ran, and then the reason
why is also the job's own, for as long as that lasts. A job that waits says it on `Admitted`.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from plimsoll.acting.conditions.conditions import LONGEST_MESSAGE, whole_second
from plimsoll.acting.conditions.unreadable import ACCEPTED
from plimsoll.acting.step import JobEvent, Step
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.conditions import Condition, condition, is_true, with_condition
from plimsoll.api.parts.placement import Admission
from plimsoll.observe.snapshot import JobView
from plimsoll.telemetry import Reason

_AGAIN: Final = "its queue and its PriorityClass are those of its spec"


def with_standing_told(step: Step, now: datetime) -> Step:
    """The step, which also says what the job was admitted with, and what of its spec is refused."""
    view, admission = step.job, _admission(step.job, step.status)
    if admission != step.status.admission:
        step = replace(step, status=step.status.model_copy(update={"admission": admission}))
    if view.refusal is not None:
        return _refused(step, now) if _runs(step.status) else step
    found = condition(step.status.conditions, ACCEPTED)
    if found is None or found.status == "True":
        return step
    return replace(step, status=_told(view, step.status, now, Reason.ADMITTED, _AGAIN))


def _runs(status: JobStatus) -> bool:
    """Whether the job has a place and is not over."""
    ended = any(is_true(status.conditions, kind) for kind in ("Complete", "Failed"))
    return status.placement is not None and not ended


def _admission(view: JobView, status: JobStatus) -> Admission | None:
    """What the job is admitted with; as before while its spec names what it may not have."""
    if status.placement is None:
        return None
    if view.refusal is not None or view.priority is None:
        return status.admission
    spec = view.resource.spec
    return Admission(
        queue=spec.queue,
        priority_class_name=spec.priority_class_name,
        priority=view.priority,
    )


def _refused(step: Step, now: datetime) -> Step:
    """The step of a job that keeps its place, though its spec names what it may not have."""
    view, refusal = step.job, step.job.refusal
    assert refusal is not None  # noqa: S101 - only called with one
    spec = view.resource.spec
    text = (
        f"{refusal.message}; until then it keeps its place in queue {spec.queue} with priority"
        f" {view.priority}, and does not grow"
    )[:LONGEST_MESSAGE]
    before = condition(step.status.conditions, ACCEPTED)
    is_news = before is None or (before.status, before.reason) != ("False", refusal.reason)
    status = _told(view, step.status, now, refusal.reason, text, holds=False)
    status = status.model_copy(update={"reason": refusal.reason.value, "message": text})
    events = (JobEvent(refusal.reason, text, warning=True),) if is_news else ()
    return replace(step, status=status, events=(*step.events, *events))


def _told(  # noqa: PLR0913 - all that a condition says
    view: JobView,
    status: JobStatus,
    now: datetime,
    reason: Reason,
    message: str,
    *,
    holds: bool = True,
) -> JobStatus:
    news = Condition(
        type=ACCEPTED,
        status="True" if holds else "False",
        reason=reason,
        message=message,
        last_transition_time=whole_second(now),
        observed_generation=view.resource.metadata.generation,
    )
    return status.model_copy(update={"conditions": with_condition(status.conditions, news)})
