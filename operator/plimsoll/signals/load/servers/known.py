"""All servers that are known, and how to recognise one by what Prometheus has."""

from collections.abc import Collection, Mapping
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.load import Server
from plimsoll.signals.load.servers.engines import LLAMA_CPP, SGLANG, TENSORRT_LLM, TGI, VLLM
from plimsoll.signals.load.servers.platforms import DYNAMO, HTTP, RAY_SERVE, TRITON
from plimsoll.signals.load.servers.server_metrics import Names, ServerMetrics

METRICS: Final[Mapping[Server, ServerMetrics]] = {
    # What runs engines within itself comes first, since it may have their metrics, too.
    "Dynamo": DYNAMO,
    "RayServe": RAY_SERVE,
    "Triton": TRITON,
    "VLLM": VLLM,
    "SGLang": SGLANG,
    "TensorRTLLM": TENSORRT_LLM,
    "TGI": TGI,
    "LlamaCpp": LLAMA_CPP,
    "HTTP": HTTP,
    "Gateway": VLLM,
}


def metrics_of(job: InferenceJob) -> ServerMetrics:
    """The metrics of a service's server."""
    return METRICS[job.spec.load.server]


def marks_of_others(job: InferenceJob) -> Names:
    """Metrics that show that a service's server is another than the one named."""
    mine = metrics_of(job)
    others = (each for name, each in METRICS.items() if each is not mine and name != "Gateway")
    return tuple(dict.fromkeys(mark for each in others for mark in each.marks))


def recognised(job: InferenceJob, names: Collection[str]) -> Server | None:
    """The server other than the one named whose metrics these are."""
    mine, plain = metrics_of(job), {_plain(name) for name in names}
    return next(
        (
            server
            for server, metrics in METRICS.items()
            if metrics is not mine and any(_plain(mark) in plain for mark in metrics.marks)
        ),
        None,
    )


def _plain(name: str) -> str:
    return name.replace(":", "_")
