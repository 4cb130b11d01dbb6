"""Build the Prometheus queries for a service: mostly one covers all default measurements.

Each of its samples has a label `measure` that says what it is; per-replica measurements have the
label `pod`, histograms have `le`. Users' own queries are sent one by one, so that each can fail on
its own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.load import EACH_ROLE, LoadQuery, ServiceLevel
from plimsoll.api.parts.roles import Role
from plimsoll.observe.measured.sample import Query
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
_DIGIT = "[bcdfghjklmnpqrstvwxz2456789]"
_GENERATED: Final = f"({_DIGIT}{{1,10}}-)?{_DIGIT}{{5}}"
"""How Kubernetes names the pods of a Deployment or ReplicaSet; other pods have ordinals."""
PREFILL, DECODE = "prefill", "decode"
QUEUES: Final = 2
"""Gauges that each have a measurement of their own; those after them add to the last."""


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


def default_queries(job: InferenceJob, scope: Scope) -> tuple[Query, ...]:
    """All default measurements, mostly in one query."""
    batches: list[str] = []
    for term in _terms(job, scope):
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
    yield from _histogram_terms(job.spec.slo, metrics, where, scope)
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


def _histogram_terms(
    promised: ServiceLevel, metrics: ServerMetrics, where: str, scope: Scope
) -> Iterator[str]:
    """Histograms of the objectives; each name apart, since two names' values do not add up."""
    objectives = {
        "TimeToFirstToken": promised.time_to_first_token,
        "TimePerOutputToken": promised.time_per_output_token,
        "Latency": promised.latency,
    }
    for measurement, names in metrics.histograms.items():
        for place, name in enumerate(names if objectives[measurement] else ()):
            rates = f"rate({series(bucket_name(name), where)}[{scope.window}])"
            yield marked(f"{measurement}/{place}", f"sum by (le) ({rates})")


def _matchers(job: InferenceJob) -> str:
    """What excludes series of the service's pods that are not its load."""
    metrics, model = metrics_of(job), job.spec.load.model
    by_model = f'{metrics.model_label}="{text(model)}"' if model and metrics.model_label else ""
    return joined(metrics.matchers, by_model)


def _where(job: InferenceJob, roles: Iterable[Role], scope: Scope, more: str = "") -> str:
    pods = "|".join(pods_pattern(job, role) for role in roles)
    namespace = f'namespace="{text(job.metadata.namespace)}"'
    return joined(namespace, f'pod=~"{pods}"', scope.matchers, more)
