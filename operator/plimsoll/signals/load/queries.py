"""Build the Prometheus queries for a service: one covers all default measurements.

Each of its samples has a label `measure` that says what it is; per-replica measurements have the
label `pod`, histograms have `le`. Users' own queries are sent one by one, so that each can fail on
its own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.load import EACH_ROLE, LoadQuery, ServiceLevel
from plimsoll.api.parts.roles import Role
from plimsoll.observe.measured.sample import Query
from plimsoll.signals.load.server_metrics import (
    FLOW_CONTROL_QUEUE,
    METRICS,
    POOL_AVERAGE_QUEUE,
    POOL_READY_PODS,
    Names,
    ServerMetrics,
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


class Measure(StrEnum):
    """The default measurements, per replica except for the last three."""

    REQUESTS = "Requests"
    PROMPT_TOKENS = "PromptTokens"
    GENERATION_TOKENS = "GenerationTokens"
    RUNNING = "Running"
    RUNNING_GROWTH = "RunningGrowth"
    WAITING = "Waiting"
    WAITING_GROWTH = "WaitingGrowth"
    SCRAPED = "Scraped"
    FRONT_QUEUE = "FrontQueue"
    FRONT_GROWTH = "FrontGrowth"
    POOL_QUEUE = "PoolQueue"


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """A user's query, as sent for one role."""

    measurement: str
    role: str
    query: Query


@dataclass(frozen=True, slots=True)
class Scope:
    """Which series are queried: PromQL matchers of the cluster, and the seconds to look back."""

    window_seconds: int
    matchers: str = ""


def unit_of(job: InferenceJob, role: str) -> Measure:
    """The default unit of a role's load, per second."""
    counts_tokens = bool(METRICS[job.spec.load.server].prompt_tokens)
    units = {PREFILL: Measure.PROMPT_TOKENS, DECODE: Measure.GENERATION_TOKENS}
    return units.get(role, Measure.REQUESTS) if counts_tokens else Measure.REQUESTS


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
    metrics = METRICS[job.spec.load.server]
    names = _counter(metrics, unit_of(job, role.name))
    where = _where(job, (role,), scope, metrics.matchers)
    served = _by_pod(names, where, "rate({})", scope)
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
    metrics = METRICS[job.spec.load.server]
    where = _where(job, job.spec.roles, scope, metrics.matchers)
    units = {Measure.REQUESTS, *(unit_of(job, role.name) for role in job.spec.roles)}
    for unit in sorted(units):
        yield _marked(unit, _by_pod(_counter(metrics, unit), where, "rate({})", scope))
    gauges = ((Measure.RUNNING, metrics.running), (Measure.WAITING, metrics.waiting))
    for measure, names in gauges:
        if names:
            yield _marked(measure, _by_pod(names, where, "avg_over_time({})", scope))
            growth = Measure(f"{measure}Growth")
            yield _marked(growth, _by_pod(names, where, "delta({})", scope))
    plain = _where(job, job.spec.roles, scope)
    yield _marked(Measure.SCRAPED, _by_pod(("up",), plain, "max_over_time({})", scope))
    yield from _histogram_terms(job.spec.slo, metrics, where, scope)
    if job.spec.load.server == "Gateway":
        yield from _gateway_terms(job, scope)


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
    for measurement, names in (metrics.histograms or {}).items():
        for place, name in enumerate(names if objectives[measurement] else ()):
            rates = f"rate({_series(f'{name}_bucket', where)}[{scope.window_seconds}s])"
            yield _marked(f"{measurement}/{place}", f"sum by (le) ({rates})")


def _gateway_terms(job: InferenceJob, scope: Scope) -> Iterator[str]:
    """What waits in front of the replicas, and at them as the endpoint picker sees it."""
    pool = text(job.spec.load.inference_pool or job.metadata.name)
    namespace = f'namespace="{text(job.metadata.namespace)}"'
    flows = _joined(f'inference_pool="{pool}"', namespace, scope.matchers)
    by_name = _joined(f'name="{pool}"', namespace, scope.matchers)
    window = f"[{scope.window_seconds}s]"
    alike = "by (inference_pool, priority, fairness_id, model_name, target_model_name)"
    for measure, function in (
        (Measure.FRONT_QUEUE, "avg_over_time"),
        (Measure.FRONT_GROWTH, "delta"),
    ):
        sums = " or ".join(
            f"sum(max {alike} ({function}({name}{{{flows}}}{window})))"
            for name in FLOW_CONTROL_QUEUE
        )
        yield _marked(measure, sums)
    queue, ready = (
        f"max by (name) (avg_over_time({name}{{{by_name}}}{window}))"
        for name in (POOL_AVERAGE_QUEUE, POOL_READY_PODS)
    )
    yield _marked(Measure.POOL_QUEUE, f"{queue} * {ready}")


def _where(job: InferenceJob, roles: Iterable[Role], scope: Scope, more: str = "") -> str:
    pods = "|".join(pods_pattern(job, role) for role in roles)
    namespace = f'namespace="{text(job.metadata.namespace)}"'
    return _joined(namespace, f'pod=~"{pods}"', scope.matchers, more)


def _by_pod(names: Names, where: str, function: str, scope: Scope) -> str:
    """A value for each pod, from the first metric that it has.

    A pod scraped by two jobs, or by two replicas of Prometheus, counts once.
    """
    return " or ".join(
        "max by (pod) (sum by (pod, job, prometheus_replica) ("
        + function.format(f"{_series(name, where)}[{scope.window_seconds}s]")
        + "))"
        for name in names
    )


def _series(name: str, where: str) -> str:
    """The series of a metric. Some scrapes turn the colon in a name into an underscore."""
    if ":" not in name:
        return f"{name}{{{where}}}"
    either = name.replace(":", "[:_]")
    return f'{{__name__=~"{either}", {where}}}'


def _marked(measure: str, expression: str) -> str:
    return f'label_replace({expression}, "measure", "{measure}", "", "")'


def _joined(*matchers: str) -> str:
    return ", ".join(each for each in matchers if each)
