"""What a job was admitted with, in its status, and whether its spec is in force.

The former is written with the placement, and again when the job may have something else. The latter
is the condition `Accepted`. It exists once it has been False while the job ran, and its reason is
then also the job's own for as long as that lasts. A waiting job reports it on `Admitted` instead.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from plimsoll.acting.conditions.conditions import Fact, reported, reported_anew
from plimsoll.acting.conditions.unreadable import ACCEPTED
from plimsoll.acting.step import Step
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.conditions import condition, is_over
from plimsoll.api.parts.placement import Admission
from plimsoll.observe.queue_access import Refusal
from plimsoll.observe.snapshot import JobView
from plimsoll.vocabulary.reasons import Reason

_AGAIN: Final = "its queue and PriorityClass match its spec"


def with_standing(step: Step, now: datetime) -> Step:
    """The step, which also reports what the job was admitted with, and a refused spec."""
    admission = _admission(step.job, step.status)
    if admission != step.status.admission:
        step = replace(step, status=step.status.model_copy(update={"admission": admission}))
    refusal = step.job.refusal
    if refusal is None:
        return reported(step, _again_facts(step.status), now)
    return _refused(step, refusal, now) if _runs(step.status) else step


def _again_facts(status: JobStatus) -> tuple[Fact, ...]:
    """That the spec is in force again, if it was not."""
    found = condition(status.conditions, ACCEPTED)
    if found is None or found.status == "True":
        return ()
    return (Fact.true(ACCEPTED, Reason.ADMITTED, _AGAIN),)


def _runs(status: JobStatus) -> bool:
    """Whether the job has a place and has not ended."""
    return status.placement is not None and not is_over(status.conditions)


def _admission(view: JobView, status: JobStatus) -> Admission | None:
    """What the job is admitted with; unchanged while its spec names what it may not have."""
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


def _refused(step: Step, refusal: Refusal, now: datetime) -> Step:
    """The step of a job that keeps its place although its spec names what it may not have."""
    view = step.job
    text = (
        f"{refusal.message}; meanwhile it stays in queue {view.resource.spec.queue} with"
        f" priority {view.priority}, and does not grow"
    )
    fact = Fact.false(ACCEPTED, refusal.reason, text)
    before = condition(step.status.conditions, ACCEPTED)
    if before is None or (before.status, before.reason) != (fact.status, fact.reason):
        fact = fact.with_event(warning=True)
    step = reported_anew(step, [fact], now)
    top = {"reason": fact.reason.value, "message": fact.text}
    return replace(step, status=step.status.model_copy(update=top))
