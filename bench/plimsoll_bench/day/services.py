"""The services of the day: recorded request rates, and what replicas answer by a characterization.

Rates are CSV, optionally gzipped, with the columns model, window_start_s and rate_rps; windows are
equally long, and a rate of 0 is a gap in what was collected, over which the last rate goes on. The
characterization has a row for each GPU profile and number of users, with the columns model, gpu,
throughput_req_s, p95_ttft_ms and median_itl_ms. A replica answers as much as in the busiest of the
rows that keep the promise.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plimsoll_bench.recorded import Row, rows_in
from plimsoll_bench.serving.rates import windows_in
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.programs.request_rate import RequestRate, in_steps
from plimsoll_simulator.programs.serving import TrueService
from plimsoll_simulator.recorded.submission import NAMESPACE

DAY_SECONDS = 86_400.0
STEP_SECONDS = 60.0
FIRST_TOKEN_MS, BETWEEN_TOKENS_MS = 1000.0, 100.0
"""The promise: a first token within a second for 95 %, and then ten a second for half of all."""
PROFILES = {"1 x T4": "aws", "1 x A100": "dgx-ext"}
"""The GPU profiles that the cluster has, by the names that the training jobs' recordings use."""
SERVING = "serving"
"""The PriorityClass of services."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A service: whose rates it has, which model it serves, and how large it is.

    `peak_replicas`: how many replicas on the GPU type that answers least its highest rate takes.
    """

    name: str
    rates_of: str
    model: str
    peak_replicas: int


SERVICES = (
    Recorded("chat", "m-mid", "google/flan-t5-xl", 10),
    Recorded("code", "m-large", "llama-13b", 6),
)


def truth(service: Recorded, rates: Path, profiles: Path, day: int) -> TrueService:
    """What a service meets with from the beginning of a day on, days counting from 0."""
    answers = _answers(profiles, service.model)
    seconds, _, found = windows_in(rates, service.rates_of)
    windows = [*_without_gaps(found.tolist())]
    per_day = round(DAY_SECONDS / seconds)
    if not 0 <= day < len(windows) // per_day:
        raise SystemExit(f"{rates}: {service.rates_of} has {len(windows) // per_day} whole days")
    until = windows[: (day + 1) * per_day]
    scale = service.peak_replicas * min(answers.values()) / max(until[day * per_day :])
    scaled = [rate * scale for rate in until]
    return TrueService(interpolated(scaled, seconds, STEP_SECONDS, -day * DAY_SECONDS), answers)


def manifest(service: Recorded, found: TrueService) -> Raw:
    """A service as its user submits it; types in the order of how little they answer."""
    answers = sorted(found.answers.items(), key=lambda pair: pair[1])
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "InferenceJob",
        "metadata": {"name": service.name, "namespace": NAMESPACE},
        "spec": {
            "queue": "default",
            "priorityClassName": SERVING,
            "roles": [
                {
                    "name": "server",
                    "replicas": {"min": 1, "max": 2 * service.peak_replicas},
                    "gpusPerReplica": 1,
                    "template": {"spec": {"containers": [{"name": "main", "image": "recorded:1"}]}},
                    "profiles": [
                        {"type": gpu_type, "load": f"{rate:.6f}"} for gpu_type, rate in answers
                    ],
                }
            ],
            "load": {
                "queries": [
                    {"name": "Load", "query": f'sum(rate(come{{of="{service.name}"}}[2m]))'}
                ]
            },
        },
    }


def _answers(path: Path, model: str) -> dict[str, float]:
    """The requests per second that a replica answers, by GPU type."""
    best: dict[str, float] = {}
    for row in rows_in(path, about="model"):
        gpu_type = PROFILES.get(row.text("gpu"))
        if row.text("model") == model and gpu_type is not None and _keeps_promise(row):
            best[gpu_type] = max(best.get(gpu_type, 0.0), row.positive("throughput_req_s"))
    if not best:
        raise SystemExit(f"{path}: {model} keeps its promise on none of {', '.join(PROFILES)}")
    return best


def _keeps_promise(row: Row) -> bool:
    known = (
        row.known("p95_ttft_ms") and row.known("median_itl_ms") and row.known("throughput_req_s")
    )
    return (
        known
        and row.number("p95_ttft_ms") <= FIRST_TOKEN_MS
        and row.number("median_itl_ms") <= BETWEEN_TOKENS_MS
    )


def _without_gaps(rates: Iterable[float]) -> Iterable[float]:
    last = 0.0
    for rate in rates:
        last = rate if rate > 0 else last
        yield last


def interpolated(
    windows: Sequence[float], window_seconds: float, step_seconds: float, begins: float = 0.0
) -> RequestRate:
    """The rate from the means of windows: straight lines between the middles of windows."""
    seconds = len(windows) * window_seconds
    middles = np.arange(0.5 * window_seconds, seconds, window_seconds)
    steps = np.arange(0.5 * step_seconds, seconds, step_seconds)
    return in_steps(np.interp(steps, middles, windows).tolist(), step_seconds, begins)
