"""Policies that choose replicas for recorded rates, as others use them.

Each returns the replicas of every window from `first` on, each chosen from what was known `lead`
windows before. What has to be fixed in advance is fixed on the windows from `begin` to `first`.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll_bench.serving.rates import Floats, Rates, outcome

HPA_UTILISATION = 0.7
HPA_STABILISATION_SECONDS = 300.0
HOUR_SECONDS, DAY_SECONDS = 3600.0, 86400.0
RIDGE = 1.0
_HEADROOMS = (0.5, 20.0)
_BISECTIONS = 40


@dataclass(frozen=True, slots=True)
class Task:
    """The rates, how far ahead replicas are chosen, and what is fixed on which windows.

    `allowed` is the share of the load that may be unserved.
    """

    rates: Rates
    lead: int
    begin: int
    first: int
    allowed: float

    @property
    def percent(self) -> float:
        """The share that may be unserved, in percent."""
        return 100 * self.allowed

    @property
    def scored(self) -> Floats:
        """The loads that are scored."""
        return self.rates.loads[self.first :]

    def last_seen(self, windows: int = 0) -> Floats:
        """By window, the latest rate known when its replicas were chosen, or before that."""
        loads, late = self.rates.loads, self.lead + windows
        known = np.maximum.accumulate(np.where(np.isfinite(loads), np.arange(len(loads)), 0))
        seen = loads[known[np.maximum(np.arange(len(loads)) - late, 0)]]
        return np.nan_to_num(seen)


def hpa(task: Task) -> Floats:
    """Kubernetes' HorizontalPodAutoscaler: the latest load divided by a target utilisation.

    The highest result within the stabilisation window, which is less than one window of ten
    minutes.
    """
    windows = int(HPA_STABILISATION_SECONDS // task.rates.step_seconds)
    highest = np.max([task.last_seen(each) for each in range(windows + 1)], axis=0)
    return np.ceil(highest / HPA_UTILISATION)[task.first :]


def keda(task: Task) -> Floats:
    """The latest load with the headroom that kept to the share before."""
    return with_headroom(task, task.last_seen())


def ridge(task: Task) -> Floats:
    """A ridge regression on the last hour and the last day, with such a headroom."""
    return with_headroom(task, ridge_predictions(task))


def with_headroom(task: Task, predicted: Floats) -> Floats:
    """Predictions times the least factor that would have kept to the share before."""
    taught = slice(task.begin, task.first)
    low, high = _HEADROOMS
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        found = outcome(task.rates.loads[taught], np.ceil(middle * predicted[taught]))
        low, high = (low, middle) if found.unserved_percent <= task.percent else (middle, high)
    return np.ceil(high * predicted)[task.first :]


def ridge_predictions(task: Task) -> Floats:
    """By window, a ridge regression's prediction from the last hour's rates and a day before."""
    hour = round(HOUR_SECONDS / task.rates.step_seconds)
    day = round(DAY_SECONDS / task.rates.step_seconds) - task.lead
    columns = [task.last_seen(each) for each in [*range(hour), *range(day - 1, day + 2)]]
    rows = np.stack([*columns, np.ones(len(task.rates.loads))], axis=1)
    taught = slice(task.begin, task.first)
    known = np.isfinite(task.rates.loads[taught])
    x, y = rows[taught][known], task.rates.loads[taught][known]
    coefficients = np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ y)
    return np.maximum(rows @ coefficients, 0.0)
