"""The metric names of known servers, newest first; the first one present is used.

vLLM's are those of versions from 0.4 on, the endpoint picker's those of the Gateway API inference
extension and of llm-d's, those of plain HTTP what the client libraries' middlewares use.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerMetrics:
    """The metrics of a kind of server: counters, gauges, and histograms by what they measure.

    `matchers` are PromQL matchers that exclude what is no load.
    """

    requests: Names
    prompt_tokens: Names = ()
    generation_tokens: Names = ()
    running: Names = ()
    waiting: Names = ()
    histograms: Mapping[str, Names] | None = None
    matchers: str = ""


_PROBES = "/?(metrics|health|healthz|livez|readyz|ready|live|ping|actuator/.*)"
_PATH_LABELS = ("handler", "path", "uri", "route", "http_route", "endpoint_path")

VLLM: Final = ServerMetrics(
    requests=("vllm:request_success_total",),
    prompt_tokens=("vllm:prompt_tokens_total",),
    generation_tokens=("vllm:generation_tokens_total",),
    running=("vllm:num_requests_running",),
    waiting=("vllm:num_requests_waiting",),
    histograms={
        "TimeToFirstToken": ("vllm:time_to_first_token_seconds",),
        "TimePerOutputToken": (
            # Per request, as the objective is; the others count each token separately.
            "vllm:request_time_per_output_token_seconds",
            "vllm:inter_token_latency_seconds",
            "vllm:time_per_output_token_seconds",
        ),
        "Latency": ("vllm:e2e_request_latency_seconds",),
    },
)

HTTP: Final = ServerMetrics(
    requests=(
        "http_server_request_duration_seconds_count",  # OpenTelemetry
        "http_server_requests_seconds_count",  # Micrometer, Spring
        "http_requests_total",  # most of Go, Python, Ruby
        "http_request_duration_seconds_count",  # Node, Go
        "http_requests_received_total",  # .NET
        "starlette_requests_total",
        "flask_http_request_total",
        "django_http_requests_total_by_method_total",
    ),
    running=(
        "http_server_active_requests",  # OpenTelemetry
        "http_requests_in_progress",
        "http_requests_inprogress",  # FastAPI
        "starlette_requests_in_progress",
    ),
    histograms={
        "Latency": (
            "http_server_request_duration_seconds",
            "http_server_requests_seconds",
            "http_request_duration_seconds",
            "starlette_request_duration_seconds",
            "flask_http_request_duration_seconds",
        )
    },
    matchers=", ".join(f'{label}!~"{_PROBES}"' for label in _PATH_LABELS),
)

METRICS: Final[Mapping[Literal["VLLM", "HTTP", "Gateway"], ServerMetrics]] = {
    "VLLM": VLLM,
    "HTTP": HTTP,
    "Gateway": VLLM,
}

FLOW_CONTROL_QUEUE: Final = (
    "llm_d_epp_flow_control_queue_size",
    "inference_extension_flow_control_queue_size",
)
"""Requests not yet assigned to a replica, by the label `inference_pool`."""
POOL_AVERAGE_QUEUE: Final = "inference_pool_average_queue_size"
POOL_READY_PODS: Final = "inference_pool_ready_pods"
"""By pool, under the label `name`; their product is what waits at its replicas."""
