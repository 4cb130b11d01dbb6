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

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plimsoll_bench.recorded import Row, json_in, object_of, rows_in

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
    for each in object_of(json_in(path), str(path)).parts("configurations", about="model_id"):
        if each.text("gpu_model") == gpu and each.positive("median_itl_ms") <= most_itl_ms:
            gpus = each.whole("num_gpus", least=1)
            tokens = each.positive("output_throughput_tokens_per_sec")
            watts = each.positive("avg_power_watts") / gpus
            found[each.text("model_id"), gpus].append((tokens, watts))
    enough = [each for each in sorted(found.items()) if len(each[1]) >= FEWEST_POINTS]
    if not enough:
        least = f"{FEWEST_POINTS} measurements within {most_itl_ms:g} ms between tokens"
        raise SystemExit(f"{path}: no model has {least} on {gpu}")
    return [
        _curve(f"{model} x{gpus}", gpus, sorted(points), loaded_watts)
        for (model, gpus), points in enough
    ]


def _curve(name: str, gpus: int, points: Sequence[tuple[float, float]], loaded: float) -> Curve:
    tokens, watts = np.array(points).T
    loads = np.concatenate(([0.0], tokens / tokens[-1]))
    return Curve(name, gpus, loads, np.concatenate(([loaded], watts)), float(tokens[-1]))


def traffic_in(path: Path, *, most_burstiness: float) -> list[Traffic]:
    """The traffic of each model in the file; windows without requests are gaps and left out."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in rows_in(path, about="model"):
        if row.number("rate_rps") > 0:
            rows[row.text("model")].append(row)
    if not rows:
        raise SystemExit(f"{path}: no window has a rate_rps above 0")
    return [
        _traffic(f"{path}: model {name}", name, each, most_burstiness)
        for name, each in sorted(rows.items())
    ]


def _traffic(where: str, name: str, rows: Sequence[Row], most_burstiness: float) -> Traffic:
    rows = sorted(rows, key=lambda row: row.number("window_start_s"))
    starts = np.array([row.number("window_start_s") for row in rows])
    if len(np.unique(starts)) < max(2, len(rows)):  # between two windows lines are drawn
        raise SystemExit(f"{where}: two windows with requests are needed, at window_start_s apart")
    rates = np.array([row.positive("rate_rps") for row in rows])
    burstiness = _known(where, rows, "var_proxy_rate_cv2")
    burstiness = np.where(np.isfinite(burstiness), burstiness, np.nanmedian(burstiness))
    tokens = float(np.nanmean(_known(where, rows, "mean_output_tokens")))
    if not tokens:
        raise SystemExit(f"{where}: mean_output_tokens is 0 in all windows with requests")
    shares = rates / np.quantile(rates, 0.999)
    return Traffic(name, starts, shares, np.minimum(burstiness, most_burstiness), tokens)


def _known(where: str, rows: Sequence[Row], field: str) -> Floats:
    """A field by window, NaN where it is empty, which it may not be everywhere."""
    found = np.array([row.number(field) if row.known(field) else np.nan for row in rows])
    if np.isnan(found).all():
        raise SystemExit(f"{where}: {field} is empty in all windows with requests")
    return found
