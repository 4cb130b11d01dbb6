"""The metrics of inference engines."""

from typing import Final

from plimsoll.signals.load.servers.server_metrics import ServerMetrics

# vLLM from 0.4 to 0.31: vllm/v1/metrics/loggers.py, before that vllm/engine/metrics.py.
VLLM: Final = ServerMetrics(
    title="vLLM",
    requests=("vllm:request_success_total",),
    prompt_tokens=("vllm:prompt_tokens_total",),
    generation_tokens=("vllm:generation_tokens_total",),
    running=("vllm:num_requests_running",),
    waiting=("vllm:num_requests_waiting",),
    kv_cache=("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
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
    marks=("vllm:num_requests_running",),
    model_label="model_name",
)

# SGLang 0.4 to 0.5.23: python/sglang/srt/observability/metrics_collector.py, once srt/metrics/.
# With --enable-metrics-for-all-schedulers each rank reports its replica's gauges.
SGLANG: Final = ServerMetrics(
    title="SGLang",
    requests=("sglang:num_requests_total",),
    prompt_tokens=("sglang:prompt_tokens_total",),
    generation_tokens=("sglang:generation_tokens_total",),
    running=("sglang:num_running_reqs",),
    waiting=("sglang:num_queue_reqs",),
    more_waiting=(
        ("sglang:num_prefill_bootstrap_queue_reqs", "sglang:num_prefill_prealloc_queue_reqs"),
        ("sglang:num_decode_prealloc_queue_reqs",),
    ),
    kv_cache=("sglang:token_usage",),
    histograms={
        "TimeToFirstToken": ("sglang:time_to_first_token_seconds",),
        "TimePerOutputToken": (
            "sglang:request_time_per_output_token_seconds",
            "sglang:inter_token_latency_seconds",
            "sglang:time_per_output_token_seconds",
        ),
        "Latency": ("sglang:e2e_request_latency_seconds",),
    },
    marks=("sglang:num_running_reqs",),
    model_label="model_name",
    copies="tp_rank, pp_rank, moe_ep_rank",
)

# trtllm-serve 1.x, at /prometheus/metrics: tensorrt_llm/metrics/collector.py.
TENSORRT_LLM: Final = ServerMetrics(
    title="TensorRT-LLM",
    requests=("trtllm_request_success_total",),
    prompt_tokens=("trtllm_prompt_tokens_total",),
    generation_tokens=("trtllm_generation_tokens_total",),
    running=("trtllm_num_requests_running",),
    waiting=("trtllm_num_requests_waiting",),
    kv_cache=("trtllm_kv_cache_utilization",),
    histograms={
        "TimeToFirstToken": ("trtllm_time_to_first_token_seconds",),
        "TimePerOutputToken": ("trtllm_time_per_output_token_seconds",),
        "Latency": ("trtllm_e2e_request_latency_seconds",),
    },
    marks=("trtllm_request_success_total", "trtllm_num_requests_running"),
    model_label="model_name",
)

# Text Generation Inference 3.3: reference/metrics.md of its pages, router/src/server.rs. The count
# `tgi_request_count` is of arrivals; growth is added to what was completed.
TGI: Final = ServerMetrics(
    title="Text Generation Inference",
    requests=("tgi_request_success",),
    prompt_tokens=("tgi_request_input_length_sum",),
    generation_tokens=("tgi_request_generated_tokens_sum",),
    running=("tgi_batch_current_size",),
    waiting=("tgi_queue_size",),
    histograms={
        "TimePerOutputToken": ("tgi_request_mean_time_per_token_duration",),
        "Latency": ("tgi_request_duration",),
    },
    marks=("tgi_queue_size", "tgi_request_count"),
)

# llama-server with --metrics, 2024 to 2026: tools/server/README.md. It counts tokens, no requests,
# and measures no latency; the share of the KV cache only until 2025.
LLAMA_CPP: Final = ServerMetrics(
    title="llama.cpp",
    prompt_tokens=("llamacpp:prompt_tokens_total",),
    generation_tokens=("llamacpp:tokens_predicted_total",),
    running=("llamacpp:requests_processing",),
    waiting=("llamacpp:requests_deferred",),
    kv_cache=("llamacpp:kv_cache_usage_ratio",),
    marks=("llamacpp:requests_processing",),
)
