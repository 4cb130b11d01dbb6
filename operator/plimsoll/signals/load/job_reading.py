"""Combine one look's results about a job: loads of its roles, SLO attainment, open requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import fmean
from typing import Final

from plimsoll.observe.measured.sample import QueryResult
from plimsoll.signals.load.load_reading import (
    Defaults,
    Gap,
    LoadResults,
    Loads,
    Unknown,
    defaults_of,
    own_values,
    role_loads,
)
from plimsoll.signals.load.servers.known import metrics_of
from plimsoll.signals.load.servers.server_metrics import unit_seconds
from plimsoll.signals.load.servers.terms import Measure
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
    kv_cache_used: Mapping[str, float] = field(default_factory=dict[str, float])


def job_reading(results: LoadResults) -> JobReading:
    """Read the results about a job."""
    defaults = defaults_of(results.defaults)
    found = {role.name: role_loads(results, role, defaults) for role in results.job.spec.roles}
    loads = {name: each for name, each in found.items() if not isinstance(each, Unknown)}
    histograms = _histograms(results)
    return JobReading(
        loads=loads,
        unknown={name: each for name, each in found.items() if isinstance(each, Unknown)},
        remark=_remark(results),
        backlog=_backlog(results),
        attainment_percent=_attainment(results, histograms),
        latencies=_latencies(results, histograms),
        running_requests=_running(results, defaults),
        kv_cache_used=_kv_cache_used(results, defaults),
    )


def _backlog(results: LoadResults) -> dict[str, Loads]:
    """The work left until the deadline, by role; empty without a deadline."""
    if results.job.spec.load.deadline is None:
        return {}
    found = {role.name: own_values(results, role, "Backlog") for role in results.job.spec.roles}
    return {
        name: left
        for name, left in found.items()
        if left is not None and not isinstance(left, Unknown)
    }


def _remark(results: LoadResults) -> str:
    """What is wrong besides the load. Missing latencies and shares without traffic are fine."""
    return "; ".join(
        values.message
        for name in (*TIMES, "Attainment", "Waiting", "Running")
        for values in _own(results, name)
        if isinstance(values, Unknown) and values.gap in (Gap.REFUSED, Gap.OVER_BUDGET)
    )


def _histograms(results: LoadResults) -> dict[str, Histogram]:
    """Histograms in seconds by what they measure; of several metrics, the first with data."""
    buckets: dict[str, list[tuple[str, float]]] = {}
    for result in results.defaults:
        for sample in result.samples if isinstance(result, QueryResult) else ():
            if "le" in sample.labels and sample.value >= 0:
                measure = sample.labels.get("measure", "")
                buckets.setdefault(measure, []).append((sample.labels["le"], sample.value))
    found: dict[str, Histogram] = {}
    for measurement, names in metrics_of(results.job).histograms.items():
        for place, name in enumerate(names):
            known = histogram(buckets.get(f"{measurement}/{place}", ()), unit_seconds(name))
            if known is not None:
                found.setdefault(measurement, known)
    return found


def _promised(results: LoadResults) -> dict[str, timedelta]:
    slo = results.job.spec.slo
    times = (slo.time_to_first_token, slo.time_per_output_token, slo.latency)
    return {name: time for name, time in zip(TIMES, times, strict=True) if time is not None}


def _attainment(results: LoadResults, histograms: Mapping[str, Histogram]) -> float | None:
    """By the user's query; otherwise the share for the objective that is attained least."""
    own = _own(results, "Attainment")
    if own:
        known = [min(1.0, *values.values()) for values in own if not isinstance(values, Unknown)]
        return WHOLE_PERCENT * min(known) if known else None
    shares = [
        share_within(histograms[name], time.total_seconds())
        for name, time in _promised(results).items()
        if name in histograms
    ]
    return WHOLE_PERCENT * min(shares) if shares else None


def _latencies(results: LoadResults, histograms: Mapping[str, Histogram]) -> dict[str, float]:
    """By the user's queries, the slowest of several roles; otherwise by the histograms."""
    share = float(results.job.spec.slo.attainment_percent) / WHOLE_PERCENT
    found = {name: quantile(each, share) for name, each in histograms.items()}
    for name in TIMES:
        own = [each for each in _own(results, name) if not isinstance(each, Unknown)]
        if own:
            found[name] = max(max(values.values()) for values in own)
    return found


def _own(results: LoadResults, measurement: str) -> list[Loads | Unknown]:
    """The results of the user's queries of one kind, role by role."""
    values = (own_values(results, role, measurement) for role in results.job.spec.roles)
    return [each for each in values if each is not None]


def _running(results: LoadResults, defaults: Defaults) -> dict[str, float]:
    """Requests at each pod, in progress or queued there: both are lost with it."""
    own = _own_running(results)
    measures = (Measure.RUNNING, Measure.WAITING)
    values = [own] if own else [defaults.values.get(measure, {}) for measure in measures]
    names = {name for pods in results.pods.values() for name in pods.names}
    return {
        pod: sum(by_pod.get(pod, 0.0) for by_pod in values)
        for pod in sorted(names)
        if any(pod in by_pod for by_pod in values)
    }


def _kv_cache_used(results: LoadResults, defaults: Defaults) -> dict[str, float]:
    """The used share of the KV cache by role, on average over the pods that report it."""
    by_pod = defaults.values.get(Measure.KV_CACHE, {})
    shares = {
        role: [by_pod[name] for name in pods.names if name in by_pod]
        for role, pods in results.pods.items()
    }
    return {role: min(fmean(each), 1.0) for role, each in shares.items() if each}


def _own_running(results: LoadResults) -> dict[str, float]:
    found: dict[str, float] = {}
    for query, result in results.own:
        if query.measurement == "Running" and isinstance(result, QueryResult):
            for sample in result.samples:
                pod = sample.labels.get("pod", "")
                found[pod] = found.get(pod, 0.0) + sample.value
    return found
