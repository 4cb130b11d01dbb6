"""Facts about an object, and how they are merged into the conditions of its status.

Each subject yields its facts; only this module turns them into conditions, and checks whether a
status already reports them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, TypeVar

from plimsoll.acting.step import JobEvent, Step
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.conditions import Condition, Conditions, condition, with_condition
from plimsoll.observe.snapshot import JobView
from plimsoll.vocabulary.reasons import Reason

S = TypeVar("S", bound=JobStatus)
LONGEST_MESSAGE = 1024
DAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Fact:
    """What one condition should report, and the event to record if that is new."""

    type: str
    reason: Reason
    message: str = ""
    status: Literal["True", "False", "Unknown"] = "True"
    event: JobEvent | None = None

    @classmethod
    def of(cls, kind: str, reason: Reason, message: str = "", *, holds: bool) -> "Fact":
        """A condition that holds or does not."""
        return cls(kind, reason, message, "True" if holds else "False")

    @classmethod
    def true(cls, kind: str, reason: Reason, message: str = "") -> "Fact":
        """A condition that holds."""
        return cls(kind, reason, message, "True")

    @classmethod
    def false(cls, kind: str, reason: Reason, message: str = "") -> "Fact":
        """A condition that does not hold."""
        return cls(kind, reason, message, "False")

    @classmethod
    def unknown(cls, kind: str, reason: Reason, message: str = "") -> "Fact":
        """A condition that may or may not hold."""
        return cls(kind, reason, message, "Unknown")

    @property
    def text(self) -> str:
        """The message, cut to the length that is reported."""
        return self.message[:LONGEST_MESSAGE]

    def with_event(self, *, warning: bool = False) -> "Fact":
        """The fact with an event of the same reason and message."""
        return replace(self, event=JobEvent(self.reason, self.text, warning))


def with_facts(
    conditions: Conditions, facts: Iterable[Fact], *, now: datetime, generation: int
) -> Conditions:
    """The conditions updated with these facts, which hold for that generation of the object."""
    for fact in facts:
        news = Condition(
            type=fact.type,
            status=fact.status,
            reason=fact.reason,
            message=fact.text,
            last_transition_time=whole_second(now),
            observed_generation=generation,
        )
        conditions = with_condition(conditions, news)
    return conditions


def without(conditions: Conditions, kind: str) -> Conditions:
    """The conditions without the one of that type."""
    return tuple(each for each in conditions if each.type != kind)


def is_news(status: JobStatus, fact: Fact) -> bool:
    """Whether a status does not report this yet."""
    found = condition(status.conditions, fact.type)
    return found is None or (found.status, found.reason, found.message) != (
        fact.status,
        fact.reason,
        fact.text,
    )


def reported(step: Step, facts: Iterable[Fact], now: datetime) -> Step:
    """The step that also reports the facts that are new, with their events."""
    news = [fact for fact in facts if is_news(step.status, fact)]
    return reported_anew(step, news, now) if news else step


def reported_anew(step: Step, facts: Sequence[Fact], now: datetime) -> Step:
    """The step that also reports these facts, new or not, with their events."""
    generation = step.job.resource.metadata.generation
    conditions = with_facts(step.status.conditions, facts, now=now, generation=generation)
    status = step.status.model_copy(update={"conditions": conditions})
    events = (fact.event for fact in facts if fact.event is not None)
    return replace(step, status=status, events=(*step.events, *events))


def with_conditions(status: S, view: JobView, now: datetime, facts: Sequence[Fact]) -> S:
    """The status with these conditions; the first fact also sets its reason and message.

    They are written even if they are not new, since they then hold for the present spec as well.
    """
    generation = view.resource.metadata.generation
    return status.model_copy(
        update={
            "conditions": with_facts(status.conditions, facts, now=now, generation=generation),
            "observed_generation": generation,
            "reason": facts[0].reason.value,
            "message": facts[0].text,
        }
    )


def says_all(status: JobStatus, facts: Sequence[Fact]) -> bool:
    """Whether a status already reports all of this, the first fact as its reason and message."""
    first = (facts[0].reason, facts[0].text)
    return (status.reason, status.message) == first and not any(
        is_news(status, fact) for fact in facts
    )


def says(status: JobStatus, kind: str, reason: Reason) -> bool:
    """Whether a condition already has this reason."""
    found = condition(status.conditions, kind)
    return found is not None and found.reason == reason.value


def starts_no_more(status: JobStatus, reason: Reason) -> list[Fact]:
    """That a job that has lost its place is not about to start there, if that was said."""
    starts = Reason.WAITING_FOR_CAPACITY, Reason.STARTING, Reason.CANNOT_START
    was_said = any(says(status, "Running", each) for each in starts)
    return [Fact.false("Running", reason)] if was_said else []


def whole_second(moment: datetime) -> datetime:
    """A time in whole seconds, as the API server stores it."""
    return moment.replace(microsecond=0)
