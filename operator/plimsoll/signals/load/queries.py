"""Build the Prometheus queries for a service: mostly one covers all default measurements.

Each of its samples has a label `measure` that says what it is; per-replica measurements have the
label `pod`, histograms have `le`. Users' own queries are sent one by one, so that each can fail on
its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.load import EACH_ROLE, LoadQuery
from plimsoll.api.parts.roles import Role
from plimsoll.observe.measured.sample import Query
from plimsoll.planning.serving.phases import DECODE, PREFILL
from plimsoll.signals.load.phases import OUTPUT_TOKEN, measured_by, objectives, objectives_of
from plimsoll.signals.load.servers.gateways import gateway_terms
from plimsoll.signals.load.servers.known import marks_of_others, metrics_of
from plimsoll.signals.load.servers.server_metrics import Names, ServerMetrics
from plimsoll.signals.load.servers.terms import (
    Measure,
    Scope,
    bucket_name,
    by_pod,
    joined,
    marked,
    named,
    series,
)
from plimsoll.signals.prometheus.promql import filled, pattern, text

MOST: Final = 1e15
"""Above this a number is no load, nor anything else that is queried."""
LONGEST: Final = 3000
"""Longer queries are split, since some servers limit the length of addresses."""
MEAN: Final = "mean"
"""Stands for a bound of a histogram's bucket where a sample is the mean."""
_DIGIT = "[bcdfghjklmnpqrstvwxz2456789]"
_GENERATED: Final = f"({_DIGIT}{{1,10}}-)?{_DIGIT}{{5}}"
"""How Kubernetes names the pods of a Deployment or ReplicaSet; other pods have ordinals."""
QUEUES: Final = 2
"""Gauges that each have a measurement of their own; those after them add to the last."""
MOST_TYPES: Final = 4
"""The most GPU types of a role whose latencies are told apart."""
PodsByType = Mapping[str, Iterable[str]]
"""The names of a role's pods by GPU type."""


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """A user's query, as sent for one role."""

    measurement: str
    role: str
    query: Query


def unit_of(job: InferenceJob, role: str) -> Measure:
    """The default unit of a role's load, per second."""
    metrics = metrics_of(job)
    if role == PREFILL and metrics.prompt_tokens:
        return Measure.PROMPT_TOKENS
    if metrics.generation_tokens and (role == DECODE or not metrics.requests):
        return Measure.GENERATION_TOKENS
    return Measure.REQUESTS


def pods_pattern(job: InferenceJob, role: Role) -> str:
    """A regular expression for the names of a role's pods: `job-role-replica`, perhaps `-rank`.

    A target's pods are named by their own controller after the workload.
    """
    if job.spec.target_ref is not None:
        return f"{pattern(job.spec.target_ref.name)}-({_GENERATED}|[0-9]+(-[0-9]+)?)"
    rank = "-[0-9]+" if role.pods_per_replica > 1 else ""
    return f"{pattern(job.metadata.name)}-{pattern(role.name)}-[0-9]+{rank}"


def default_queries(
    job: InferenceJob, scope: Scope, types: Mapping[str, PodsByType] | None = None
) -> tuple[Query, ...]:
    """All default measurements, mostly in one query.

    `types`: the pods of roles whose latencies are also told apart by GPU type.
    """
    batches: list[str] = []
    for term in (*_terms(job, scope), *_type_terms(job, scope, types or {})):
        if batches and len(batches[-1]) + len(term) < LONGEST:
            batches[-1] += f" or {term}"
        else:
            batches.append(term)
    return tuple(Query("loads", each, least=-MOST, most=MOST) for each in batches)


def own_queries(job: InferenceJob) -> tuple[OwnQuery, ...]:
    """The user's queries; one meant for each role is sent for each of them."""
    return tuple(
        OwnQuery(each.name, role.name, _own(job, role, each))
        for each in job.spec.load.queries
        for role in job.spec.roles
        if each.role in (EACH_ROLE, role.name) and not _has_better(job, each, role)
    )


def past_query(job: InferenceJob, role: Role, scope: Scope) -> Query:
    """A role's load at some moment, for a range query: what was served, or the user's query."""
    for own in own_queries(job):
        if (own.measurement, own.role) == ("Load", role.name):
            return replace(own.query, name="load_history")
    metrics = metrics_of(job)
    names = _counter(metrics, unit_of(job, role.name))
    where = _where(job, (role,), scope, _matchers(job))
    served = by_pod(names, where, "rate({})", scope, metrics)
    return Query("load_history", f"sum({served})", least=0, most=MOST)


def _own(job: InferenceJob, role: Role, query: LoadQuery) -> Query:
    values = {
        "namespace": text(job.metadata.namespace),
        "job": text(job.metadata.name),
        "role": text(role.name),
        "pods": pods_pattern(job, role),
    }
    about = f"{job.metadata.uid}/{role.name}/{query.name}"
    promql = filled(query.query, values)
    return Query("own_load_queries", promql, least=0, most=MOST, about=about)


def _has_better(job: InferenceJob, query: LoadQuery, role: Role) -> bool:
    """Whether there is a query for exactly this role next to one for each role."""
    return query.role == EACH_ROLE and any(
        (each.name, each.role) == (query.name, role.name) for each in job.spec.load.queries
    )


def _terms(job: InferenceJob, scope: Scope) -> Iterator[str]:
    metrics = metrics_of(job)
    where = _where(job, job.spec.roles, scope, _matchers(job))
    units = {Measure.REQUESTS, *(unit_of(job, role.name) for role in job.spec.roles)}
    for unit in sorted(units):
        if names := _counter(metrics, unit):
            yield marked(unit, by_pod(names, where, "rate({})", scope, metrics))
    yield from _gauge_terms(job, metrics, where, scope)
    plain = _where(job, job.spec.roles, scope)
    yield marked(Measure.SCRAPED, by_pod(("up",), plain, "max_over_time({})", scope))
    yield marked(Measure.SERVER, named(marks_of_others(job), plain))
    yield from _histogram_terms(job, metrics, scope)
    yield from gateway_terms(job, scope)


def _gauge_terms(
    job: InferenceJob, metrics: ServerMetrics, where: str, scope: Scope
) -> Iterator[str]:
    phases = any(role.name in (PREFILL, DECODE) for role in job.spec.roles)
    gauges = [(Measure.RUNNING, metrics.running), (Measure.WAITING, metrics.waiting)]
    gauges += [(Measure.WAITING, names) for names in metrics.more_waiting if phases]
    for place, (measure, names) in enumerate(gauges):
        for each, function in ((measure, "avg_over_time({})"), (f"{measure}Growth", "delta({})")):
            if names:
                term = marked(each, by_pod(names, where, function, scope, metrics))
                # The samples of a further queue have to differ from those of the first.
                yield term if place < QUEUES else _in_queue(place, term)
    if metrics.kv_cache:
        shares = (f"avg_over_time({series(n, where)}[{scope.window}])" for n in metrics.kv_cache)
        yield marked(Measure.KV_CACHE, " or ".join(f"avg by (pod) ({each})" for each in shares))


def _in_queue(place: int, term: str) -> str:
    return f'label_replace({term}, "queue", "{place}", "", "")'


def _counter(metrics: ServerMetrics, unit: Measure) -> Names:
    counters = {
        Measure.PROMPT_TOKENS: metrics.prompt_tokens,
        Measure.GENERATION_TOKENS: metrics.generation_tokens,
    }
    return counters.get(unit, metrics.requests)


def _histogram_terms(job: InferenceJob, metrics: ServerMetrics, scope: Scope) -> Iterator[str]:
    """Histograms of the objectives; each name apart, since two names' values do not add up.

    If the pods of the phase that an objective is about have none, those of all roles count.
    """
    for measurement in objectives(job.spec.slo):
        names = metrics.histograms.get(measurement, ())
        for turn, where in enumerate(_wheres(job, measurement, scope)):
            for place, name in enumerate(names, start=turn * len(names)):
                yield marked(f"{measurement}/{place}", _histogram(measurement, name, where, scope))


def _wheres(job: InferenceJob, measurement: str, scope: Scope) -> Iterable[str]:
    roles = (measured_by(job, measurement), job.spec.roles)
    return dict.fromkeys(_where(job, each, scope, _matchers(job)) for each in roles)


def histogram_names(job: InferenceJob, measure: str) -> Names:
    """The metrics behind the measures of a histogram, by their place."""
    measurement, *of_type = measure.split("@")
    names = metrics_of(job).histograms.get(measurement, ())
    return names if of_type else names * 2


def _type_terms(job: InferenceJob, scope: Scope, types: Mapping[str, PodsByType]) -> Iterator[str]:
    """The histograms of a role's objectives by GPU type."""
    metrics, namespace = metrics_of(job), text(job.metadata.namespace)
    for role, pods_by_type in types.items():
        for kind, pods in sorted(pods_by_type.items())[:MOST_TYPES]:
            names = "|".join(map(pattern, sorted(pods)))
            if len(names) > LONGEST // 2:
                continue
            where = joined(
                f'namespace="{namespace}"', f'pod=~"{names}"', scope.matchers, _matchers(job)
            )
            for measurement in objectives_of(job.spec.slo, role):
                for place, name in enumerate(metrics.histograms.get(measurement, ())):
                    key = type_measure(measurement, role, kind)
                    yield marked(f"{key}/{place}", _histogram(measurement, name, where, scope))


def type_measure(measurement: str, role: str, kind: str) -> str:
    """The measure of a histogram of one GPU type's replicas."""
    return f"{measurement}@{role}@{kind}"


def _histogram(measurement: str, name: str, where: str, scope: Scope) -> str:
    """The buckets of a histogram; of times between tokens, which are close together, the mean too.

    What all requests in a batch wait for a step is the same.
    """

    def rate(part: str) -> str:
        of_part = bucket_name(name).replace("_bucket", f"_{part}", 1)
        return f"rate({series(of_part, where)}[{scope.window}])"

    buckets = f"sum by (le) ({rate('bucket')})"
    if measurement != OUTPUT_TOKEN:
        return buckets
    mean = f"sum({rate('sum')}) / (sum({rate('count')}) > 0)"
    return f'{buckets} or label_replace({mean}, "le", "{MEAN}", "", "")'


def _matchers(job: InferenceJob) -> str:
    """What excludes series of the service's pods that are not its load."""
    metrics, model = metrics_of(job), job.spec.load.model
    by_model = f'{metrics.model_label}="{text(model)}"' if model and metrics.model_label else ""
    return joined(metrics.matchers, by_model)


def _where(job: InferenceJob, roles: Iterable[Role], scope: Scope, more: str = "") -> str:
    pods = "|".join(pods_pattern(job, role) for role in roles)
    namespace = f'namespace="{text(job.metadata.namespace)}"'
    return joined(namespace, f'pod=~"{pods}"', scope.matchers, more)
