"""Report a job's fault: as the reason why it waits, or next to the status of what runs."""

from dataclasses import replace
from typing import Final

from plimsoll.acting.conditions.conditions import Fact, is_news, says_all, with_conditions, without
from plimsoll.acting.conditions.unreadable import ACCEPTED
from plimsoll.acting.step import JobEvent, Step, Turn
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.conditions import condition
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.faults import Fault
from plimsoll.vocabulary.reasons import Reason

_UNCHANGED: Final = "it keeps running unchanged: "


def fault_step(view: JobView, fault: Fault, turn: Turn) -> Step:
    """A step that only reports what is wrong with a job."""
    status = view.resource.status
    if status.placement is not None:
        return with_fault(Step(view, status), turn, fault)
    facts = [Fact.false("Admitted", Reason.INVALID_SPEC, fault.message)]
    if says_all(status, facts):
        return Step(view, status, again_at=fault.until)
    now = with_conditions(status, view, turn.now, facts)
    return Step(view, now, events=_events(view, fault), again_at=fault.until)


def with_fault(step: Step, turn: Turn, fault: Fault) -> Step:
    """The step of a running job, which also reports what is wrong with it."""
    fact = Fact.false(ACCEPTED, Reason.INVALID_SPEC, f"{_UNCHANGED}{fault.message}")
    again = min(filter(None, (step.again_at, fault.until)), default=None)
    if not is_news(step.status, fact):
        return replace(step, again_at=again)
    status = with_conditions(step.status, step.job, turn.now, [fact])
    events = (*step.events, *_events(step.job, fault))
    return replace(step, status=status, events=events, again_at=again)


def _events(view: JobView, fault: Fault) -> tuple[JobEvent, ...]:
    """An event, unless the status already reports the same."""
    status = view.resource.status
    said = (status.reason, status.message.removeprefix(_UNCHANGED))
    if said == (Reason.INVALID_SPEC, fault.message):
        return ()
    return (JobEvent(Reason.INVALID_SPEC, fault.message, warning=True),)


def without_fault(step: Step) -> Step:
    """The step of a job whose fault is gone: it reports again what it reported before."""
    status: JobStatus = step.status
    found = condition(status.conditions, ACCEPTED)
    if found is None or found.reason != Reason.INVALID_SPEC:
        return step
    others = without(status.conditions, ACCEPTED)
    update: dict[str, object] = {"conditions": others}
    before = condition(others, "Running") or condition(others, "Admitted")
    if status.reason == Reason.INVALID_SPEC and before is not None:
        update |= {"reason": before.reason, "message": before.message}
    return replace(step, status=status.model_copy(update=update))
