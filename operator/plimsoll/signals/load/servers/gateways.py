"""What gateways in front of a service count: requests that wait, and requests that no replica took.

A gateway counts the latter from the first one on, whose series is new: an increase from nothing is
taken as such where the gateway was scraped already. Only what was turned away is counted, so that
nothing is counted both at the gateway and at a replica.
"""

from collections.abc import Iterator
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.load import LoadGateway
from plimsoll.signals.load.servers.terms import Measure, Scope, joined, marked
from plimsoll.signals.prometheus.promql import pattern, text

# Gateway API inference extension 1.x and llm-d: pkg/epp/metrics/metrics.go.
FLOW_CONTROL_QUEUE: Final = (
    "llm_d_epp_flow_control_queue_size",
    "inference_extension_flow_control_queue_size",
)
"""Requests not yet assigned to a replica, by the label `inference_pool`."""
POOL_AVERAGE_QUEUE: Final = "inference_pool_average_queue_size"
POOL_READY_PODS: Final = "inference_pool_ready_pods"
"""By pool, under the label `name`; their product is what waits at its replicas."""
_POOL_ERRORS: Final = "inference_objective_request_error_total"
_NO_REPLICA: Final = 'error_code="ServiceUnavailable"'
"""The picker had none, or none became ready while the request waited. These errors do not name
their pool; the other figures of the same picker do."""

# Istio 1.x: docs/reference/config/metrics. The flags are Envoy's: no healthy upstream, overflow,
# and no connection.
_ISTIO: Final = "istio_requests_total"
_ISTIO_UNSERVED: Final = 'response_flags=~".*(UH|UO|UF).*"'

# Envoy 1.x: configuration/upstream/cluster_manager/cluster_stats.
_ENVOY_UNSERVED: Final = (
    "envoy_cluster_upstream_cx_none_healthy",
    "envoy_cluster_upstream_rq_pending_overflow",
)
_ENVOY_PENDING: Final = "envoy_cluster_upstream_rq_pending_active"
# Of each attempt of a request for which no connection came about, and of each further attempt.
_ENVOY_FAILED: Final = "envoy_cluster_upstream_rq_pending_failure_eject"
_ENVOY_RETRIED: Final = "envoy_cluster_upstream_rq_retry"

# ingress-nginx 1.x: internal/ingress/metric/collectors/socket.go. Its own labels are `namespace`
# and `service`, which Prometheus renames unless it honours them.
_NGINX: Final = "nginx_ingress_controller_requests"
_NGINX_UNSERVED: Final = 'status=~"502|503"'


def gateway_of(job: InferenceJob) -> LoadGateway | None:
    """The gateway in front of a service, if one is to be queried."""
    load = job.spec.load
    if load.gateway is not None:
        return load.gateway
    if load.server == "Gateway":
        return LoadGateway(type="InferencePool", name=load.inference_pool)
    return None


def gateway_terms(job: InferenceJob, scope: Scope) -> Iterator[str]:
    """What to ask of the gateway."""
    gateway = gateway_of(job)
    if gateway is None:
        return
    namespace, name = job.metadata.namespace, gateway.name or job.metadata.name
    match gateway.type:
        case "InferencePool":
            yield from _pool_terms(namespace, name, scope)
        case "Envoy":
            yield from _envoy_terms(namespace, name, scope)
        case "Istio":
            yield from _istio_terms(namespace, name, scope)
        case "NGINX":
            yield from _nginx_terms(namespace, name, scope)


def _pool_terms(namespace: str, name: str, scope: Scope) -> Iterator[str]:
    """What waits in front of the replicas, and at them as the endpoint picker sees it."""
    pool, within = text(name), f'namespace="{text(namespace)}"'
    flows = joined(f'inference_pool="{pool}"', within, scope.matchers)
    by_name = joined(f'name="{pool}"', within, scope.matchers)
    window = f"[{scope.window}]"
    alike = "by (inference_pool, priority, fairness_id, model_name, target_model_name)"
    for measure, function in (
        (Measure.FRONT_QUEUE, "avg_over_time"),
        (Measure.FRONT_GROWTH, "delta"),
    ):
        sums = " or ".join(
            f"sum(max {alike} ({function}({each}{{{flows}}}{window})))"
            for each in FLOW_CONTROL_QUEUE
        )
        yield marked(measure, sums)
    queue, ready = (
        f"max by (name) (avg_over_time({each}{{{by_name}}}{window}))"
        for each in (POOL_AVERAGE_QUEUE, POOL_READY_PODS)
    )
    yield marked(Measure.POOL_QUEUE, f"{queue} * {ready}")
    errors = joined(_NO_REPLICA, within, scope.matchers)
    picker = f"{POOL_READY_PODS}{{{by_name}}}"
    refused = f"{_increase(f'{_POOL_ERRORS}{{{errors}}}', scope)} and on (instance) {picker}"
    yield marked(Measure.UNSERVED, f"sum({refused}) or 0 * sum({picker})")


def _envoy_terms(namespace: str, name: str, scope: Scope) -> Iterator[str]:
    """By the cluster: Contour names it after a Service, Envoy Gateway after a route or a Service.

    Where a cluster is a Service's own address, connections are refused while it has no replica. A
    route that tries again holds its requests meanwhile: each counts once, by its first attempt, and
    while attempts fail one at least waits. Envoy has no gauge of those that wait to be tried again.
    """
    here, it = pattern(namespace), pattern(name)
    clusters = "|".join(
        (
            f"httproute/{here}/{it}/rule/[0-9]+(/.*)?",
            f"(backend/service/)?{here}/{it}(/.*)?",
            it,
        )
    )
    where = joined(f'envoy_cluster_name=~"{clusters}"', scope.matchers)
    none_healthy, overflow, failed = (
        _increase(f"{each}{{{where}}}", scope) for each in (*_ENVOY_UNSERVED, _ENVOY_FAILED)
    )
    # Some proxies are set to write few statistics, the first two perhaps.
    refused = f"(sum({_first_attempts(where, scope)}) or 0 * sum({none_healthy}))"
    yield marked(Measure.UNSERVED, f"sum({none_healthy}) + sum({overflow}) + {refused}")
    queue, growth = (
        f"sum({_scraped_once(f'{function}({_ENVOY_PENDING}{{{where}}}[{scope.window}])')})"
        for function in ("avg_over_time", "delta")
    )
    held = f"((sum({failed}) > bool 0) or 0 * {queue})"
    yield marked(Measure.FRONT_QUEUE, f"{queue} + {held}")
    yield marked(Measure.FRONT_GROWTH, growth)


def _first_attempts(where: str, scope: Scope) -> str:
    """How fast requests came for which no connection has come about, at each gateway.

    Failed attempts without further ones are the requests that wait to be tried again, or have been
    given up. It is the difference of two moments: rates of both counters would be extrapolated
    differently, and further attempts are many.
    """
    now, before = (
        f"({_ENVOY_FAILED}{{{where}}}{when} - {_ENVOY_RETRIED}{{{where}}}{when})"
        for when in ("", f" offset {scope.window}")
    )
    new = f"({now} unless {before}) and {_was_scraped(scope)}"
    return _scraped_once(f"clamp_min({now} - {before} or {new}, 0) / {scope.window_seconds}")


def _istio_terms(namespace: str, name: str, scope: Scope) -> Iterator[str]:
    service = f'destination_service_name="{text(name)}"'
    within = f'destination_service_namespace="{text(namespace)}"'
    where = joined(service, within, scope.matchers)
    turned_away = _increase(f"{_ISTIO}{{{joined(where, _ISTIO_UNSERVED)}}}", scope)
    yield marked(Measure.UNSERVED, f"sum({turned_away}) or 0 * sum({_ISTIO}{{{where}}})")


def _nginx_terms(namespace: str, name: str, scope: Scope) -> Iterator[str]:
    known, turned_away = list[str](), list[str]()
    for prefix in ("exported_", ""):
        within = f'{prefix}namespace="{text(namespace)}"'
        where = joined(within, f'{prefix}service="{text(name)}"', scope.matchers)
        known.append(f"0 * sum({_NGINX}{{{where}}})")
        series = f"{_NGINX}{{{joined(where, _NGINX_UNSERVED)}}}"
        turned_away.append(f"sum({_increase(series, scope)})")
    yield marked(Measure.UNSERVED, " or ".join((*turned_away, *known)))


def _increase(series: str, scope: Scope) -> str:
    """How fast a counter grows at each gateway; one that is new grew from nothing."""
    window = scope.window
    is_new = f"{series} unless {series} offset {window}"
    new = f"(({is_new}) and {_was_scraped(scope)}) / {scope.window_seconds}"
    return _scraped_once(f"{new} or rate({series}[{window}])")


def _was_scraped(scope: Scope) -> str:
    """Those whose gateway was scraped as long ago as the window is."""
    return f"on (job, instance) (max by (job, instance) (up offset {scope.window}) == 1)"


def _scraped_once(expression: str) -> str:
    """By gateway, once for each, however often it is scraped."""
    by = "by (instance, job, prometheus_replica)"
    return f"max by (instance) (sum {by} ({expression}))"
