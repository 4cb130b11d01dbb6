"""How a status says what was decided: conditions, the last reason, the message."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.conditions import Condition, condition, with_condition
from plimsoll.observe.snapshot import JobView
from plimsoll.telemetry import Reason

S = TypeVar("S", bound=JobStatus)
LONGEST_MESSAGE = 1024
DAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Fact:
    """One condition to be told."""

    type: str
    reason: Reason
    message: str = ""
    holds: bool = True

    @classmethod
    def true(cls, kind: str, reason: Reason, message: str = "") -> "Fact":
        """A condition that holds."""
        return cls(kind, reason, message)

    @classmethod
    def false(cls, kind: str, reason: Reason, message: str = "") -> "Fact":
        """A condition that does not hold."""
        return cls(kind, reason, message, holds=False)


def told(status: S, view: JobView, now: datetime, facts: Iterable[Fact]) -> S:
    """The status with these conditions; the first fact is also its reason and message."""
    generation = view.resource.metadata.generation
    conditions = status.conditions
    facts = tuple(facts)
    for fact in facts:
        conditions = with_condition(
            conditions,
            Condition(
                type=fact.type,
                status="True" if fact.holds else "False",
                reason=fact.reason,
                message=fact.message[:LONGEST_MESSAGE],
                last_transition_time=whole_second(now),
                observed_generation=generation,
            ),
        )
    first = facts[0]
    return status.model_copy(
        update={
            "conditions": conditions,
            "observed_generation": generation,
            "reason": first.reason.value,
            "message": first.message[:LONGEST_MESSAGE],
        }
    )


def whole_second(moment: datetime) -> datetime:
    """A moment as the API server keeps it."""
    return moment.replace(microsecond=0)


def is_told(status: JobStatus, facts: Sequence[Fact]) -> bool:
    """Whether a status says all of this already, the first of it as its reason and message."""
    first = facts[0]
    top = (status.reason, status.message) == (first.reason, first.message[:LONGEST_MESSAGE])
    return top and all(is_condition_told(status, fact) for fact in facts)


def is_condition_told(status: JobStatus, fact: Fact) -> bool:
    """Whether a condition says this already."""
    found = condition(status.conditions, fact.type)
    said = None if found is None else (found.status == "True", found.reason, found.message)
    return said == (fact.holds, fact.reason, fact.message[:LONGEST_MESSAGE])


def says(status: JobStatus, kind: str, reason: Reason) -> bool:
    """Whether a condition is told already with this reason."""
    found = condition(status.conditions, kind)
    return found is not None and found.reason == reason.value
