"""What is asked of Prometheus, and what an answer is: samples, each fit for use or with its flaw.

That there is no answer is a result, too: whoever asks must say what holds then.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

Labels = Mapping[str, str]


class Flaw(StrEnum):
    """Why a sample cannot be used."""

    NAN = "NaN"
    INFINITE = "Infinite"
    ABSURD = "Absurd"
    STALE = "Stale"
    MALFORMED = "Malformed"


class Outcome(StrEnum):
    """How a query ended."""

    ANSWERED = "Answered"
    REFUSED = "Refused"
    UNAVAILABLE = "Unavailable"
    UNUSABLE = "Unusable"
    POSTPONED = "Postponed"


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression that gives a vector; `name` is what metrics and logs call it.

    Values outside of `least` and `most` are absurd. What an instant query finds is stale when it
    is older than `stale_after`. `about` tells queries of one name apart in logs.
    """

    name: str
    promql: str
    least: float = -math.inf
    most: float = math.inf
    stale_after: timedelta = timedelta(minutes=5)
    about: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time and how far apart the moments in it are at which a range query looks."""

    start: datetime
    end: datetime
    step_seconds: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A finite value in its bounds; `at` is when the query was evaluated."""

    labels: Labels
    value: float
    at: datetime


@dataclass(frozen=True, slots=True)
class FlawedSample:
    """A value that says nothing."""

    labels: Labels
    flaw: Flaw
    at: datetime


@dataclass(frozen=True, slots=True)
class Answer:
    """What Prometheus found, which may be nothing; series by series, each in the order of time."""

    samples: tuple[Sample, ...] = ()
    flawed: tuple[FlawedSample, ...] = ()


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Prometheus gave none, and why, for people."""

    outcome: Outcome
    message: str


def only_value(told: Answer | NoAnswer, query: str) -> float | str:
    """The value of the one series that a user's query must give, or what is wrong with it."""
    if isinstance(told, NoAnswer):
        return f"Prometheus gives no answer to {query}: {told.message}"
    if told.flawed:
        return f"{query} gives what cannot be: {told.flawed[0].flaw}"
    if len(told.samples) != 1:
        return f"{query} gives {len(told.samples)} series instead of one"
    return told.samples[0].value
