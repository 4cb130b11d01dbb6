"""Measured draw of LLM servers by load, and the request rates that they see.

Profiles are JSON, optionally gzipped: a list `configurations` of one measurement each, with
model_id, gpu_model, num_gpus, output_throughput_tokens_per_sec, avg_power_watts (of all its GPUs)
and median_itl_ms, as the ML.ENERGY leaderboard publishes them. The measurements of one model on one
count of GPUs, from small batches to large ones, are one curve; those with more time between tokens
than is allowed are left out, and the highest throughput that remains is full load.

Rates are CSV, optionally gzipped, with the columns model, window_start_s, rate_rps,
var_proxy_rate_cv2 (the squared coefficient of variation of the times between requests) and
mean_output_tokens.
"""

import csv
import gzip
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FEWEST_POINTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Watts of one GPU of a model's replica by its load, as a share of full load."""

    name: str
    gpus: int
    loads: Floats
    watts: Floats
    tokens_per_second: float
    """Of one replica at full load."""


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Requests over time as a share of the 99.9 % quantile of their rate, and their burstiness."""

    name: str
    starts: Floats
    shares: Floats
    burstiness: Floats
    output_tokens: float


def curves_in(path: Path, gpu: str, *, most_itl_ms: float, loaded_watts: float) -> list[Curve]:
    """The curves of a GPU model; a replica without requests draws `loaded_watts` a GPU."""
    found: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for each in json.loads(_text(path))["configurations"]:
        if each["gpu_model"] == gpu and each["median_itl_ms"] <= most_itl_ms:
            watts = each["avg_power_watts"] / each["num_gpus"]
            key = (each["model_id"], each["num_gpus"])
            found[key].append((each["output_throughput_tokens_per_sec"], watts))
    return [
        _curve(f"{model} x{gpus}", gpus, sorted(points), loaded_watts)
        for (model, gpus), points in sorted(found.items())
        if len(points) >= FEWEST_POINTS
    ]


def _curve(name: str, gpus: int, points: Sequence[tuple[float, float]], loaded: float) -> Curve:
    tokens, watts = np.array(points).T
    loads = np.concatenate(([0.0], tokens / tokens[-1]))
    return Curve(name, gpus, loads, np.concatenate(([loaded], watts)), float(tokens[-1]))


def traffic_in(path: Path, *, most_burstiness: float) -> list[Traffic]:
    """The traffic of each model in the file; windows without requests are gaps and left out."""
    rows: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for row in csv.DictReader(io.StringIO(_text(path))):
        if float(row["rate_rps"]) > 0:
            rows[row["model"]].append(row)
    return [_traffic(name, each, most_burstiness) for name, each in sorted(rows.items())]


def _traffic(name: str, rows: Sequence[Mapping[str, str]], most_burstiness: float) -> Traffic:
    starts, rates, burstiness, tokens = (
        np.array([float(row[column] or "nan") for row in rows])
        for column in ("window_start_s", "rate_rps", "var_proxy_rate_cv2", "mean_output_tokens")
    )
    burstiness = np.where(np.isfinite(burstiness), burstiness, np.nanmedian(burstiness))
    return Traffic(
        name,
        starts,
        rates / np.quantile(rates, 0.999),
        np.minimum(burstiness, most_burstiness),
        float(np.nanmean(tokens)),
    )


def _text(path: Path) -> str:
    written = path.read_bytes()
    return (gzip.decompress(written) if path.suffix == ".gz" else written).decode()
