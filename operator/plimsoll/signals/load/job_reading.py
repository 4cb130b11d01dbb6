"""Combine one look's results about a job: loads of its roles, SLO attainment, open requests."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from plimsoll.observe.measured.sample import NoResult, QueryResult
from plimsoll.signals.load.load_reading import (
    Defaults,
    Gap,
    Loads,
    Told,
    Unknown,
    defaults_of,
    own_values,
    role_loads,
)
from plimsoll.signals.load.queries import Measure
from plimsoll.signals.load.slo_attainment import Histogram, histogram, quantile, share_within

TIMES: Final = ("TimeToFirstToken", "TimePerOutputToken", "Latency")
WHOLE_PERCENT: Final = 100.0


@dataclass(frozen=True, slots=True)
class JobReading:
    """What one look found about a job; `unknown` by role. See `JobDemand` for the others.

    `remark`: anything else that is wrong.
    """

    loads: Mapping[str, Loads] = field(default_factory=dict[str, Loads])
    unknown: Mapping[str, Unknown] = field(default_factory=dict[str, Unknown])
    remark: str = ""
    backlog: Mapping[str, Loads] = field(default_factory=dict[str, Loads])
    attainment_percent: float | None = None
    latencies: Mapping[str, float] = field(default_factory=dict[str, float])
    running_requests: Mapping[str, float] = field(default_factory=dict[str, float])


def job_reading(told: Told) -> JobReading:
    """Read the results about a job."""
    defaults = defaults_of(told.defaults)
    found = {role.name: role_loads(told, role, defaults) for role in told.job.spec.roles}
    loads = {name: each for name, each in found.items() if not isinstance(each, Unknown)}
    histograms = _histograms(told.defaults)
    return JobReading(
        loads=loads,
        unknown={name: each for name, each in found.items() if isinstance(each, Unknown)},
        remark=_remark(told),
        backlog=_backlog(told),
        attainment_percent=_attainment(told, histograms),
        latencies=_latencies(told, histograms),
        running_requests=_running(told, defaults),
    )


def _backlog(told: Told) -> dict[str, Loads]:
    """The work left until the deadline, by role; empty without a deadline."""
    if told.job.spec.load.deadline is None:
        return {}
    found = {role.name: own_values(told, role, "Backlog") for role in told.job.spec.roles}
    return {
        name: left
        for name, left in found.items()
        if left is not None and not isinstance(left, Unknown)
    }


def _remark(told: Told) -> str:
    """What is wrong besides the load. Missing latencies and shares without traffic are fine."""
    return "; ".join(
        values.message
        for name in (*TIMES, "Attainment", "Waiting", "Running")
        for values in _own(told, name)
        if isinstance(values, Unknown) and values.gap in (Gap.REFUSED, Gap.OVER_BUDGET)
    )


def _histograms(results: Iterable[QueryResult | NoResult]) -> dict[str, Histogram]:
    """Histograms by what they measure; of several metrics, the first with data."""
    buckets: dict[str, list[tuple[str, float]]] = {}
    for result in results:
        for sample in result.samples if isinstance(result, QueryResult) else ():
            if "le" in sample.labels and sample.value >= 0:
                measure = sample.labels.get("measure", "")
                buckets.setdefault(measure, []).append((sample.labels["le"], sample.value))
    found: dict[str, Histogram] = {}
    for measure in sorted(buckets):
        known = histogram(buckets[measure])
        if known is not None:
            found.setdefault(measure.partition("/")[0], known)
    return found


def _promised(told: Told) -> dict[str, timedelta]:
    slo = told.job.spec.slo
    times = (slo.time_to_first_token, slo.time_per_output_token, slo.latency)
    return {name: time for name, time in zip(TIMES, times, strict=True) if time is not None}


def _attainment(told: Told, histograms: Mapping[str, Histogram]) -> float | None:
    """By the user's query; otherwise the share for the objective that is attained least."""
    own = _own(told, "Attainment")
    if own:
        known = [min(1.0, *values.values()) for values in own if not isinstance(values, Unknown)]
        return WHOLE_PERCENT * min(known) if known else None
    shares = [
        share_within(histograms[name], time.total_seconds())
        for name, time in _promised(told).items()
        if name in histograms
    ]
    return WHOLE_PERCENT * min(shares) if shares else None


def _latencies(told: Told, histograms: Mapping[str, Histogram]) -> dict[str, float]:
    """By the user's queries, the slowest of several roles; otherwise by the histograms."""
    share = float(told.job.spec.slo.attainment_percent) / WHOLE_PERCENT
    found = {name: quantile(each, share) for name, each in histograms.items()}
    for name in TIMES:
        own = [each for each in _own(told, name) if not isinstance(each, Unknown)]
        if own:
            found[name] = max(max(values.values()) for values in own)
    return found


def _own(told: Told, measurement: str) -> list[Loads | Unknown]:
    """The results of the user's queries of one kind, role by role."""
    values = (own_values(told, role, measurement) for role in told.job.spec.roles)
    return [each for each in values if each is not None]


def _running(told: Told, defaults: Defaults) -> dict[str, float]:
    """Requests at each pod, in progress or queued there: both are lost with it."""
    own = _own_running(told)
    measures = (Measure.RUNNING, Measure.WAITING)
    values = [own] if own else [defaults.values.get(measure, {}) for measure in measures]
    names = {name for pods in told.pods.values() for name in pods.names}
    return {
        pod: sum(by_pod.get(pod, 0.0) for by_pod in values)
        for pod in sorted(names)
        if any(pod in by_pod for by_pod in values)
    }


def _own_running(told: Told) -> dict[str, float]:
    found: dict[str, float] = {}
    for query, result in told.own:
        if query.measurement == "Running" and isinstance(result, QueryResult):
            for sample in result.samples:
                pod = sample.labels.get("pod", "")
                found[pod] = found.get(pod, 0.0) + sample.value
    return found
