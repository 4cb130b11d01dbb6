"""The load of an InferenceJob: how it is measured and forecast, and how fast replicas follow it."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import keyed_by
from plimsoll.api.values.amounts import Duration, Fraction, Percentage, PositiveDuration
from plimsoll.api.values.scalars import PromQL, ResourceName, Timestamp

EACH_ROLE = "*"
Server = Literal[
    "VLLM",
    "SGLang",
    "TensorRTLLM",
    "TGI",
    "LlamaCpp",
    "Triton",
    "Dynamo",
    "RayServe",
    "HTTP",
    "Gateway",
]
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
    """A measurement by PromQL."""

    name: Measurement
    """What is measured: `Load` in the unit of the profiles, such as requests or tokens per second;
    `Running` and `Waiting` in requests, per `pod` label if present; `Backlog` in units of work
    left, such as requests for profiles in requests per second; times in seconds; `Attainment` from
    0 to 1."""
    role: Annotated[str, Field(min_length=1, max_length=30)] = EACH_ROLE
    """Role to measure; `*`: each."""
    query: PromQL
    """PromQL, with `$namespace`, `$job`, `$role` and `$pods` (a regular expression for the role's
    pod names) filled in, and a label `bucket` if profiles name buckets."""


class Forecast(ApiModel):
    """How far ahead and how cautiously to plan."""

    horizon: PositiveDuration = timedelta(minutes=5)
    """How far ahead to forecast; at least until a replica started now is ready, and where nodes are
    bought, a new node before it."""
    quantile: Fraction | None = None
    """Fixed forecast quantile to provision for, above 0 and below 1. Default: the lowest that keeps
    the unserved load within what `slo.attainmentPercent` allows, learned for each load."""


class LoadGateway(ApiModel):
    """The gateway in front of a service: what waits there, or finds no replica, is load, too."""

    type: Literal["InferencePool", "Envoy", "Istio", "NGINX"]
    """Whose metrics are queried: the endpoint picker's of an InferencePool, Envoy's (Contour, Envoy
    Gateway), Istio's or ingress-nginx's."""
    name: ResourceName | None = None
    """InferencePool; with Istio, NGINX and Contour, the Service; with Envoy Gateway, the HTTPRoute;
    in the job's namespace. Default: the job's name."""


class Load(ApiModel):
    """How load is measured and forecast."""

    server: Server = "VLLM"
    """Inference engine or server whose metrics are queried; `HTTP`: any that counts requests;
    `Gateway`: vLLM behind the InferencePool."""
    model: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """Model to count, as the server's metrics call it, where replicas serve several."""
    gateway: LoadGateway | None = None
    """Gateway whose metrics are queried, too: it can wake a service from zero."""
    inference_pool: ResourceName | None = None
    """InferencePool for the server `Gateway`. Default: the job's name."""
    queries: Annotated[tuple[LoadQuery, ...], Field(max_length=16), keyed_by("name", "role")] = ()
    """Queries that replace the default ones."""
    forecast: Forecast = Forecast()
    """How load is forecast."""
    deadline: Timestamp | None = None
    """For offline inference: when the `Backlog` must be done."""


class ScalingRule(ApiModel):
    """How fast replicas follow the load in one direction."""

    stabilization_window: Duration
    """How long the load must call for a change first."""
    max_percent: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Largest capacity change per `period`; one replica may always change. Default: no limit."""
    period: PositiveDuration = timedelta(minutes=1)
    """The period of `maxPercent`."""


class ScaleUp(ScalingRule):
    """How fast replicas are added."""

    stabilization_window: Duration = timedelta()
    """How long the load must call for more first."""


class ScaleDown(ScalingRule):
    """How fast replicas are removed."""

    stabilization_window: Duration = timedelta(minutes=5)
    """How long the load must call for less first."""


class Scaling(ApiModel):
    """How fast replicas follow the load: by default up fast and down slowly."""

    up: ScaleUp = ScaleUp()
    """How fast replicas are added."""
    down: ScaleDown = ScaleDown()
    """How fast replicas are removed."""


class ServiceLevel(ApiModel):
    """What requests are promised."""

    time_to_first_token: PositiveDuration | None = None
    """Longest time to the first token."""
    time_per_output_token: PositiveDuration | None = None
    """Longest time between tokens."""
    latency: PositiveDuration | None = None
    """Longest time for a whole request."""
    attainment_percent: Percentage = Decimal(99)
    """Share of requests that must get this, above 0 and at most 100."""
