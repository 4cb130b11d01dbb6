"""What is true of an object, since when, and why.

The reasons themselves are in `plimsoll.vocabulary.reasons`.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import keyed_by
from plimsoll.api.values.scalars import Count, Timestamp


class Condition(ApiModel):
    """One aspect of an object's state, in the standard Kubernetes form."""

    type: Annotated[str, Field(min_length=1, max_length=63)]
    """The aspect, in CamelCase."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    reason: Annotated[str, Field(max_length=128, pattern=r"^[A-Za-z]([A-Za-z0-9]*[A-Za-z0-9])?$")]
    """Why, in one CamelCase word, for programs."""
    message: Annotated[str, Field(max_length=4096)] = ""
    """Why, in a sentence, for people."""
    last_transition_time: Timestamp
    """When the status last changed."""
    observed_generation: Count | None = None
    """The generation of the object that the condition reflects."""


Conditions = Annotated[tuple[Condition, ...], Field(max_length=16), keyed_by("type")]


def condition(conditions: Sequence[Condition], kind: str) -> Condition | None:
    """Return the condition of that type."""
    return next((each for each in conditions if each.type == kind), None)


def is_true(conditions: Sequence[Condition], kind: str) -> bool:
    """Whether the condition of that type is present and true."""
    found = condition(conditions, kind)
    return found is not None and found.status == "True"


def is_over(conditions: Sequence[Condition]) -> bool:
    """Whether a job with these conditions has completed or failed for good."""
    return is_true(conditions, "Complete") or is_true(conditions, "Failed")


def with_condition(conditions: Sequence[Condition], news: Condition) -> tuple[Condition, ...]:
    """Return the conditions with one added or replaced in its place.

    The transition time is kept if the status has not changed.
    """
    old = condition(conditions, news.type)
    if old is None:
        return (*conditions, news)
    if old.status == news.status:
        news = news.model_copy(update={"last_transition_time": old.last_transition_time})
    return tuple(news if each.type == news.type else each for each in conditions)
