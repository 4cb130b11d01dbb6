"""The metrics of what runs inference engines within itself, and of plain HTTP servers."""

from typing import Final

from plimsoll.signals.load.servers.server_metrics import ServerMetrics

# NVIDIA Dynamo 0.4 to 1.6: lib/runtime/src/metrics/prometheus_names.rs. Workers pass their engine's
# metrics on. The frontend's are used where it is a role of the job.
_ENGINE: Final = "(vllm|sglang|trtllm)"
DYNAMO: Final = ServerMetrics(
    title="Dynamo",
    requests=(
        'dynamo_component_requests_total{dynamo_endpoint="generate"}',
        "dynamo_frontend_requests_total",
    ),
    prompt_tokens=(f"{_ENGINE}:prompt_tokens_total",),
    generation_tokens=(f"{_ENGINE}:generation_tokens_total", "dynamo_frontend_output_tokens_total"),
    running=(
        "(vllm:num_requests|trtllm_num_requests|sglang:num)_running(_reqs)?",
        'dynamo_component_inflight_requests{dynamo_endpoint="generate"}',
        "dynamo_frontend_inflight_requests",
    ),
    waiting=(
        "vllm:num_requests_waiting|trtllm_num_requests_waiting|sglang:num_queue_reqs",
        "dynamo_frontend_queued_requests",
    ),
    kv_cache=("vllm:kv_cache_usage_perc|trtllm_kv_cache_utilization|sglang:token_usage",),
    histograms={
        "TimeToFirstToken": (
            "dynamo_frontend_time_to_first_token_seconds",
            f"{_ENGINE}:time_to_first_token_seconds",
        ),
        "TimePerOutputToken": (
            "dynamo_frontend_inter_token_latency_seconds",
            "(vllm|sglang):inter_token_latency_seconds|trtllm_time_per_output_token_seconds",
        ),
        "Latency": (
            "dynamo_frontend_request_duration_seconds",
            f"{_ENGINE}:e2e_request_latency_seconds",
            'dynamo_component_request_duration_seconds{dynamo_endpoint="generate"}',
        ),
    },
    marks=("dynamo_component_requests_total", "dynamo_frontend_requests_total"),
    copies="tp_rank, pp_rank, moe_ep_rank",
)

# Ray Serve 2.9 to 2.60, and Ray Serve LLM, which puts `ray_` before vLLM's names:
# python/ray/serve/_private/{replica,router}.py, doc/source/serve/monitoring.md. An application of
# several deployments counts a request at each.
RAY_SERVE: Final = ServerMetrics(
    title="Ray Serve",
    requests=(
        "ray_vllm:request_success_total",
        "ray_serve_deployment_request_counter_total",
        "ray_serve_deployment_request_counter",
    ),
    prompt_tokens=("ray_vllm:prompt_tokens_total",),
    generation_tokens=("ray_vllm:generation_tokens_total",),
    running=("ray_vllm:num_requests_running", "ray_serve_replica_processing_queries"),
    waiting=("ray_vllm:num_requests_waiting", "ray_serve_deployment_queued_queries"),
    kv_cache=("ray_vllm:kv_cache_usage_perc", "ray_vllm:gpu_cache_usage_perc"),
    histograms={
        "TimeToFirstToken": ("ray_vllm:time_to_first_token_seconds",),
        "TimePerOutputToken": (
            "ray_vllm:request_time_per_output_token_seconds",
            "ray_vllm:inter_token_latency_seconds",
            "ray_vllm:time_per_output_token_seconds",
        ),
        "Latency": (
            "ray_vllm:e2e_request_latency_seconds",
            "ray_serve_http_request_latency_ms",
            "ray_serve_deployment_processing_latency_ms",
        ),
    },
    marks=("ray_serve_replica_processing_queries", "ray_vllm:num_requests_running"),
    parts="deployment",
)

# Triton 23.11 to 26.08: user_guide/metrics.md of its pages; with TensorRT-LLM, that backend's
# `nv_trt_llm_`. The steps of an ensemble count a request each.
TRITON: Final = ServerMetrics(
    title="Triton",
    requests=("nv_inference_request_success",),
    running=('nv_trt_llm_request_metrics{request_type="scheduled"}',),
    waiting=(
        'nv_trt_llm_request_metrics{request_type="waiting"}',
        "nv_inference_pending_request_count",
    ),
    kv_cache=('nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction"}',),
    histograms={"TimeToFirstToken": ("nv_inference_first_response_histogram_ms",)},
    marks=("nv_inference_request_success",),
    model_label="model",
    parts="model",
)

_PROBES: Final = "/?(metrics|health|healthz|livez|readyz|ready|live|ping|actuator/.*)"
_PATH_LABELS: Final = ("handler", "path", "uri", "route", "http_route", "endpoint_path")

# What the middlewares of client libraries use.
HTTP: Final = ServerMetrics(
    title="HTTP",
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
