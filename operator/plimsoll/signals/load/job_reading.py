"""Combine one look's results about a job: loads of its roles, SLO attainment, open requests."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.roles import Role
from plimsoll.observe.measured.demand import Range, TypeReading
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
from plimsoll.signals.load.phases import TIMES, measured_by, objectives, objectives_of
from plimsoll.signals.load.queries import MEAN, histogram_names, type_measure, unit_of
from plimsoll.signals.load.role_pods import RolePods
from plimsoll.signals.load.servers.server_metrics import unit_seconds
from plimsoll.signals.load.servers.terms import Measure
from plimsoll.signals.load.slo_attainment import (
    Histogram,
    histogram,
    quantile,
    share_beyond,
    share_within,
)

WHOLE_PERCENT: Final = 100.0
CLOSE: Final = 1.25
"""The quantile of times that are close together, over their mean."""


@dataclass(frozen=True, slots=True)
class JobReading:
    """What one look found about a job; `unknown` and `types` by role. See `JobDemand` for others.

    `remark`: anything else that is wrong.
    """

    loads: Mapping[str, Loads] = field(default_factory=dict[str, Loads])
    unknown: Mapping[str, Unknown] = field(default_factory=dict[str, Unknown])
    remark: str = ""
    backlog: Mapping[str, Loads] = field(default_factory=dict[str, Loads])
    attainment_percent: float | None = None
    latencies: Mapping[str, float] = field(default_factory=dict[str, float])
    latency_ranges: Mapping[str, Range] = field(default_factory=dict[str, Range])
    late: Mapping[str, float] = field(default_factory=dict[str, float])
    running_requests: Mapping[str, float] = field(default_factory=dict[str, float])
    kv_cache_used: Mapping[str, float] = field(default_factory=dict[str, float])
    types: Mapping[str, tuple[TypeReading, ...]] = field(
        default_factory=dict[str, tuple[TypeReading, ...]]
    )


def job_reading(results: LoadResults) -> JobReading:
    """Read the results about a job."""
    defaults = defaults_of(results.defaults)
    found = {role.name: role_loads(results, role, defaults) for role in results.job.spec.roles}
    loads = {name: each for name, each in found.items() if not isinstance(each, Unknown)}
    times = _times(results)
    answers = _answers(results, times)
    return JobReading(
        loads=loads,
        unknown={name: each for name, each in found.items() if isinstance(each, Unknown)},
        remark=_remark(results),
        backlog=_backlog(results),
        attainment_percent=_attainment(results, times),
        latencies=_latencies(results, times),
        latency_ranges=answers.latencies,
        late=answers.late,
        running_requests=_running(results, defaults),
        kv_cache_used=_kv_cache_used(results, defaults),
        types={
            role.name: _types(results, role, defaults, answers, times)
            for role in results.job.spec.roles
        },
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


@dataclass(frozen=True, slots=True)
class Times:
    """How long requests took, and on average where that is known."""

    within: Histogram
    mean: float | None = None

    def quantile(self, share: float) -> float:
        """The seconds within which this share of requests stays, as far as is known."""
        low, high = self.range(share)
        return min(max(quantile(self.within, share), low), high)

    def range(self, share: float) -> Range:
        """The seconds between which that lies: the bounds of its bucket.

        If the mean is in the same bucket, times are close together, and it is near the mean.
        """
        found, bounds = quantile(self.within, share), [bound for bound, _ in self.within]
        place = bisect_left(bounds, found)
        low, high = bounds[place - 1] if place else 0.0, bounds[place]
        if self.within[place][1] < share * self.within[-1][1]:
            return high, math.inf
        if self.mean is None or not low < self.mean <= high:
            return low, high
        return self.mean, min(high, CLOSE * self.mean)


def _times(results: LoadResults) -> dict[str, Times]:
    """Times in seconds by what they measure; of several metrics, the first with data."""
    buckets: dict[str, list[tuple[str, float]]] = {}
    for result in results.defaults:
        for sample in result.samples if isinstance(result, QueryResult) else ():
            if "le" in sample.labels and sample.value >= 0:
                measure = sample.labels.get("measure", "")
                buckets.setdefault(measure, []).append((sample.labels["le"], sample.value))
    found: dict[str, Times] = {}
    for key, measure, name in _measures(results.job, {each.partition("/")[0] for each in buckets}):
        values, unit = buckets.get(measure, []), unit_seconds(name)
        known = histogram(values, unit)
        mean = next((unit * value for le, value in values if le == MEAN), None)
        if known is not None:
            found.setdefault(key, Times(known, mean))
    return found


def _measures(job: InferenceJob, keys: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """By what is measured: the names that its samples have, the best first, and their metrics."""
    for key in sorted(keys):
        for place, name in enumerate(histogram_names(job, key)):
            yield key, f"{key}/{place}", name


def _attainment(results: LoadResults, times: Mapping[str, Times]) -> float | None:
    """By the user's query; otherwise the share for the objective that is attained least."""
    own = _own(results, "Attainment")
    if own:
        known = [min(1.0, *values.values()) for values in own if not isinstance(values, Unknown)]
        return WHOLE_PERCENT * min(known) if known else None
    shares = [
        share_within(times[name].within, time.total_seconds())
        for name, time in objectives(results.job.spec.slo).items()
        if name in times
    ]
    return WHOLE_PERCENT * min(shares) if shares else None


def _latencies(results: LoadResults, times: Mapping[str, Times]) -> dict[str, float]:
    """By the user's queries; otherwise by the histograms."""
    found = {name: times[name].quantile(_share(results)) for name in TIMES if name in times}
    return found | _own_latencies(results)


@dataclass(frozen=True, slots=True)
class _Answers:
    """How long requests took, and which share of them was late, by what is measured."""

    latencies: Mapping[str, Range]
    late: Mapping[str, float]


def _answers(results: LoadResults, times: Mapping[str, Times]) -> _Answers:
    """Of the job. The user's queries tell latencies exactly, and nothing of who was late."""
    own = _own_latencies(results)
    by_histograms = {name: times[name] for name in TIMES if name in times and name not in own}
    found = _by_histograms(results, by_histograms)
    exact = {name: (time, time) for name, time in own.items()}
    return replace(found, latencies={**found.latencies, **exact})


def _by_histograms(results: LoadResults, times: Mapping[str, Times]) -> _Answers:
    promised = objectives(results.job.spec.slo)
    return _Answers(
        {name: each.range(_share(results)) for name, each in times.items()},
        {
            name: share_beyond(each.within, promised[name].total_seconds())
            for name, each in times.items()
            if name in promised
        },
    )


def _own_latencies(results: LoadResults) -> dict[str, float]:
    """By the user's queries, the slowest of several roles."""
    found: dict[str, float] = {}
    for name in TIMES:
        own = _known(results, name, measured_by(results.job, name)) or _known(
            results, name, results.job.spec.roles
        )
        if own:
            found[name] = max(max(values.values()) for values in own)
    return found


def _share(results: LoadResults) -> float:
    """The share of requests that must be within the objective."""
    return float(results.job.spec.slo.attainment_percent) / WHOLE_PERCENT


def _types(
    results: LoadResults,
    role: Role,
    defaults: Defaults,
    whole: _Answers,
    times: Mapping[str, Times],
) -> tuple[TypeReading, ...]:
    """What each GPU type did, of those whose replicas report load and latency.

    Of a single type, the latencies are those of the job.
    """
    if own_values(results, role, "Load") is not None or defaults.missing:
        return ()
    types = results.pods.get(role.name, RolePods()).types
    found: list[TypeReading] = []
    for kind in sorted(types):
        known = whole if len(types) == 1 else _of_type(results, role, kind, times)
        reading = _reading(results, role, kind, defaults)
        if known.latencies and reading is not None:
            found.append(replace(reading, latencies=known.latencies, late=known.late))
    return tuple(found)


def _of_type(results: LoadResults, role: Role, kind: str, times: Mapping[str, Times]) -> _Answers:
    keys = {
        name: type_measure(name, role.name, kind)
        for name in objectives_of(results.job.spec.slo, role.name)
    }
    return _by_histograms(results, {name: times[key] for name, key in keys.items() if key in times})


def _reading(results: LoadResults, role: Role, kind: str, defaults: Defaults) -> TypeReading | None:
    """What the settled replicas of a type served; None if none of them reports it."""
    unit = unit_of(results.job, role.name)
    known = defaults.values.get(unit, {}).keys()
    replicas = [pods for pods in results.pods[role.name].types[kind] if pods & known]
    load = defaults.sum(unit, frozenset[str]().union(*replicas))
    return TypeReading(kind, len(replicas), load, {}) if replicas else None


def _known(results: LoadResults, measurement: str, roles: Iterable[Role]) -> list[Loads]:
    """What the user's queries of one kind found."""
    values = (own_values(results, role, measurement) for role in roles)
    return [each for each in values if each is not None and not isinstance(each, Unknown)]


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
