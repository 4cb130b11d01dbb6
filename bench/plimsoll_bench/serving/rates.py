"""Recorded request rates, and what serving them costs.

The file is CSV, optionally gzipped, with the columns model, window_start_s and rate_rps, and
equally spaced windows. A rate of zero is a gap in what was collected: such a window is not scored,
and policies see it as missing.

A replica carries the 99.9 % quantile of the rates divided by 40. In each window a policy chooses
how many there are in the window `lead` later, knowing the rates up to its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plimsoll.signals.load.foresight.series import STEP_SECONDS
from plimsoll_bench.recorded import rows_in

Floats = npt.NDArray[np.float64]

PEAK_REPLICAS = 40
PEAK_QUANTILE = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Rates by window in units of what one replica carries; NaN where nothing was collected."""

    step_seconds: float
    starts: Floats
    loads: Floats

    def window(self, seconds: float) -> int:
        """The first window that does not begin before this time."""
        return int(np.searchsorted(self.starts, seconds))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Replicas over the least that would have served everything, and the unserved share of load."""

    cost_ratio: float
    unserved_percent: float


def models_in(path: Path) -> list[str]:
    """The models of a file."""
    return sorted({row.text("model") for row in rows_in(path, about="model")})


def windows_in(path: Path, model: str) -> tuple[float, Floats, Floats]:
    """How long a model's windows are, when each begins, and its rate in requests per second."""
    rows = [row for row in rows_in(path, about="model") if row.text("model") == model]
    if len(rows) < 2:  # noqa: PLR2004  (a step lies between two windows)
        raise SystemExit(f"{path}: fewer than two windows of the model {model}")
    windows = sorted((row.number("window_start_s"), row.number("rate_rps")) for row in rows)
    starts, rates = np.array(windows).T
    steps = {later - earlier for earlier, later in pairwise(starts)}
    if len(steps) > 1 or not min(steps):
        raise SystemExit(f"{path}: {model} needs windows at equal distances")
    return float(steps.pop()), starts, rates


def rates_in(path: Path, model: str) -> Rates:
    """The rates of one model."""
    step_seconds, starts, rates = windows_in(path, model)
    carried = np.quantile(rates, PEAK_QUANTILE) / PEAK_REPLICAS
    if not carried:
        raise SystemExit(f"{path}: rate_rps of the model {model} is 0 in almost all windows")
    if step_seconds % STEP_SECONDS:
        raise SystemExit(
            f"{path}: the windows of {model} are {step_seconds:g} s long: they need to be a"
            f" multiple of {STEP_SECONDS} s, the time between the operator's looks"
        )
    return Rates(step_seconds, starts, np.where(rates > 0, rates / carried, np.nan))


def outcome(loads: Floats, replicas: Sequence[float] | Floats) -> Outcome:
    """The outcome of these replicas against these loads."""
    known = np.isfinite(loads)
    there, load = np.asarray(replicas, np.float64)[known], loads[known]
    missed = np.maximum(0.0, load - there).sum() / load.sum()
    return Outcome(float(there.sum() / np.ceil(load).sum()), 100 * float(missed))
