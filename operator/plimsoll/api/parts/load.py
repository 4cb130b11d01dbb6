"""The load of an InferenceJob: how it is measured and foreseen, and how fast the job follows it."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import keyed_by
from plimsoll.api.values.amounts import Duration, Fraction, Percentage, PositiveDuration
from plimsoll.api.values.scalars import PromQL, ResourceName, Timestamp

EACH_ROLE = "*"
Measurement = Literal[
    "Load",
    "Running",
    "Waiting",
    "Backlog",
    "TimeToFirstToken",
    "TimePerOutputToken",
    "Latency",
    "Attainment",
]


class LoadQuery(ApiModel):
    """A measurement, by PromQL."""

    name: Measurement
    """What the query measures: `Load` in the unit of the profiles, such as requests or tokens a
    second; `Running` and `Waiting` in requests, by the label `pod` where there is one; `Backlog`,
    what is left to do, such as requests where the profiles are in requests a second; times in
    seconds; `Attainment` from 0 to 1."""
    role: Annotated[str, Field(min_length=1, max_length=30)] = EACH_ROLE
    """The role that it is asked for; `*`: each of them, one by one."""
    query: PromQL
    """The query; `$namespace`, `$job`, `$role` and `$pods` (a regular expression of the role's pod
    names) stand for what is asked for. With a label `bucket` where profiles name buckets."""


class Forecast(ApiModel):
    """How far, and how cautiously, the plan looks ahead."""

    horizon: PositiveDuration = timedelta(minutes=5)
    """How far ahead the load is foreseen; at least what a replica needs to start."""
    quantile: Fraction = Decimal("0.9")
    """The quantile of the foreseen load that there is room for, above 0 and below 1."""


class Load(ApiModel):
    """How the load is measured and foreseen."""

    server: Literal["VLLM", "HTTP", "Gateway"] = "VLLM"
    """Which queries are used by default: those for vLLM's metrics, for plain HTTP, or for the queue
    of a Gateway API InferencePool beside vLLM's."""
    inference_pool: ResourceName | None = None
    """The InferencePool whose queue counts, with `server: Gateway`; default: the job's name."""
    queries: Annotated[tuple[LoadQuery, ...], Field(max_length=16), keyed_by("name", "role")] = ()
    """Queries that stand in for the default ones."""
    forecast: Forecast = Forecast()
    """How the load is foreseen."""
    deadline: Timestamp | None = None
    """For offline inference: when all that the `Backlog` query tells is to be done."""


class ScalingRule(ApiModel):
    """How fast the replicas follow the load in one direction."""

    stabilization_window: Duration
    """For how long the load must ask for a change before it is made."""
    max_percent: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """The most by which what the replicas carry changes within `period`; without it: at once. One
    replica may always come or go."""
    period: PositiveDuration = timedelta(minutes=1)
    """The time that `maxPercent` holds for."""


class ScaleUp(ScalingRule):
    """How fast replicas are added."""

    stabilization_window: Duration = timedelta()
    """For how long the load must ask for more before replicas are added."""


class ScaleDown(ScalingRule):
    """How fast replicas are taken away."""

    stabilization_window: Duration = timedelta(minutes=5)
    """For how long the load must ask for less before replicas are taken away."""


class Scaling(ApiModel):
    """How fast the replicas follow the load: up fast and down slowly, unless said otherwise."""

    up: ScaleUp = ScaleUp()
    """How fast replicas are added."""
    down: ScaleDown = ScaleDown()
    """How fast replicas are taken away."""


class ServiceLevel(ApiModel):
    """What requests are promised."""

    time_to_first_token: PositiveDuration | None = None
    """The longest time until a request's first token."""
    time_per_output_token: PositiveDuration | None = None
    """The longest time between a request's tokens."""
    latency: PositiveDuration | None = None
    """The longest time that a whole request takes."""
    attainment_percent: Percentage = Decimal(99)
    """The share of requests that must get what is promised, above 0 and at most 100."""
