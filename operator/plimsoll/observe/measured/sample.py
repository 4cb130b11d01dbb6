"""Prometheus queries and results: samples, each usable or with its flaw.

That there is none is a result too: the caller must say what holds then.
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
    """A PromQL expression that yields a vector; `name` is its name in metrics and logs.

    Values outside `least` and `most` are absurd. A sample of an instant query is stale when it is
    older than `stale_after`. `about` distinguishes queries of one name in logs.
    """

    name: str
    promql: str
    least: float = -math.inf
    most: float = math.inf
    stale_after: timedelta = timedelta(minutes=5)
    about: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A time range and the step between the moments that a range query evaluates."""

    start: datetime
    end: datetime
    step_seconds: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A finite value within its bounds; `at` is when the query was evaluated."""

    labels: Labels
    value: float
    at: datetime


@dataclass(frozen=True, slots=True)
class FlawedSample:
    """A value that cannot be used."""

    labels: Labels
    flaw: Flaw
    at: datetime


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What Prometheus found, possibly nothing; series by series, each in order of time."""

    samples: tuple[Sample, ...] = ()
    flawed: tuple[FlawedSample, ...] = ()


@dataclass(frozen=True, slots=True)
class NoResult:
    """Prometheus gave no result; `message` says why, for people."""

    outcome: Outcome
    message: str


def only_value(result: QueryResult | NoResult, query: str) -> float | str:
    """The value of the single series that a user's query must yield, or what is wrong with it."""
    if isinstance(result, NoResult):
        return f"Prometheus gives no answer to {query}: {result.message}"
    if result.flawed:
        return f"{query} gives what cannot be: {result.flawed[0].flaw}"
    if len(result.samples) != 1:
        return f"{query} gives {len(result.samples)} series instead of one"
    return result.samples[0].value
