"""Derive the measured power from Prometheus' results, and why some domains' is unknown.

NVIDIA's DCGM exporter reports each GPU's watts as `DCGM_FI_DEV_POWER_USAGE`; a MIG instance reports
those of its whole GPU, so only the largest of a GPU's series counts. Prometheus returns samples up
to five minutes old: those older than a limit are excluded in the queries.

With its Kubernetes mapping the exporter says which pod has each GPU. Where Prometheus gives
precedence to the target's labels, those are `exported_pod` and `exported_namespace`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from plimsoll.api.power_domain import PowerDomain
from plimsoll.naming import first_few
from plimsoll.observe.measured.gpu_faults import GPU_LABELS, NODE_LABELS, node_of
from plimsoll.observe.measured.power import PodKey, PodPower, PowerReading
from plimsoll.observe.measured.sample import NoResult, Query, QueryResult, Sample, only_value
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.signals.exporters import ANY_EXPORTER, Exporters

METRIC: Final = "DCGM_FI_DEV_POWER_USAGE"
MOST_WATTS: Final = 1_000_000_000
MOST_SECONDS: Final = 253_402_300_799
"""The last second of the year 9999, the last that Python knows."""
ABSURD: Final = 1.5
"""Readings above this multiple of the sum of the GPUs' limits are no measurements."""
POD_LABELS: Final = ("exported_pod", "pod")
NAMESPACE_LABELS: Final = ("exported_namespace", "namespace")

Result = QueryResult | NoResult


@dataclass(frozen=True, slots=True)
class PowerQueries:
    """The queries for all nodes: watts, the number of GPUs measured, and the oldest scrape.

    For all pods: the watts of their GPUs, and the number of these.
    """

    watts: Query
    gpus: Query
    oldest: Query
    pod_watts: Query
    pod_gpus: Query


@dataclass(frozen=True, slots=True)
class PowerResults:
    """The results; `own` is by domain. `pods` has watts and GPUs; None: not queried."""

    watts: Result
    gpus: Result
    oldest: Result
    own: Mapping[str, Result]
    pods: tuple[Result, Result] | None = None


def power_queries(stale_seconds: int, exporters: Exporters = ANY_EXPORTER) -> PowerQueries:
    """The queries for all nodes."""
    matchers = exporters.matchers
    metric = f"{METRIC}{{{matchers}}}" if matchers else METRIC
    fresh = f"({metric} and timestamp({metric}) > (time() - {stale_seconds}))"
    nodes, gpu = ", ".join((*NODE_LABELS, *exporters.pod_labels)), ", ".join(GPU_LABELS)
    pod = ", ".join((*NAMESPACE_LABELS, *POD_LABELS))

    def query(name: str, promql: str, most: float = MOST_WATTS) -> Query:
        return Query(name, promql, least=0, most=most)

    once = f"max by ({nodes}, {gpu})"
    of_pods = f"max by ({', '.join(NODE_LABELS)}, {gpu}, {pod})"
    return PowerQueries(
        query("gpu_power", f"sum by ({nodes}) ({once} ({fresh}))"),
        query("powered_gpus", f"count by ({nodes}) ({once} ({fresh} >= 0))"),
        query(
            "power_scrape", f"min(timestamp({metric}) > (time() - {stale_seconds}))", MOST_SECONDS
        ),
        query("pod_power", f"sum by ({pod}) ({of_pods} ({fresh}))"),
        query("pod_gpus", f"count by ({pod}) ({of_pods} ({fresh} >= 0))"),
    )


def own_query(domain: PowerDomain) -> Query | None:
    """The query of a domain that has one."""
    promql = domain.spec.measured_power_query
    name = domain.metadata.name
    return Query("domain_power", promql, 0, MOST_WATTS, about=name) if promql else None


def power_reading(
    results: PowerResults, snapshot: Snapshot, now: datetime, exporters: Exporters = ANY_EXPORTER
) -> PowerReading:
    """The known power, and why the rest is unknown."""
    nodes, why = _watts_by_node(results, snapshot, exporters)
    domains: dict[str, float] = {}
    problems: dict[str, str] = {}
    for domain in snapshot.power_domains:
        name = domain.metadata.name
        found = (
            _watts_of_domain(results.own[name], domain, snapshot)
            if name in results.own
            else _sum_of_nodes(domain, snapshot, nodes, why)
        )
        if isinstance(found, str):
            problems[name] = found
        else:
            domains[name] = found
    at = min(
        (now, *(sample.at for sample in _samples(results.watts)), *_scraped(results.oldest, now))
    )
    return PowerReading(at, domains, nodes, problems, _pods(results))


def _pods(results: PowerResults) -> dict[PodKey, PodPower] | None:
    """The GPU power of each pod, as far as the exporter knows pods; None: not queried."""
    if results.pods is None:
        return None
    drawn, gpus = ({_pod(s): s.value for s in _samples(each)} for each in results.pods)
    of_pods = ((pod, watts) for pod, watts in drawn.items() if all(pod))
    return {pod: PodPower(watts, round(gpus.get(pod, 0))) for pod, watts in of_pods}


def _pod(sample: Sample) -> PodKey:
    namespace = (sample.labels.get(label, "") for label in NAMESPACE_LABELS)
    name = (sample.labels.get(label, "") for label in POD_LABELS)
    return next(filter(None, namespace), ""), next(filter(None, name), "")


def _samples(result: Result) -> tuple[Sample, ...]:
    return result.samples if isinstance(result, QueryResult) else ()


def _scraped(result: Result, now: datetime) -> Iterable[datetime]:
    return (datetime.fromtimestamp(sample.value, now.tzinfo) for sample in _samples(result))


def _watts_by_node(
    results: PowerResults, snapshot: Snapshot, exporters: Exporters
) -> tuple[dict[str, float], str]:
    """The nodes whose GPUs are all measured, and why the others' power is unknown."""
    for result in (results.watts, results.gpus):
        if isinstance(result, NoResult):
            return {}, f"Prometheus gives no answer: {result.message}"
    known = frozenset(snapshot.node_by_name)
    watts, gpus = (
        _by_node(_samples(each), known, exporters) for each in (results.watts, results.gpus)
    )
    found = {
        name: drawn
        for name, drawn in watts.items()
        if _is_whole(snapshot.node_by_name[name], drawn, gpus.get(name, 0), snapshot)
    }
    return found, "" if watts else f"Prometheus knows no {METRIC} of its nodes that counts"


def _by_node(
    samples: Iterable[Sample], known: frozenset[str], exporters: Exporters
) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for sample in samples:
        node = node_of(exporters.located(sample.labels), known)
        if node is not None:
            found[node] += sample.value
    return found


def _is_whole(node: NodeView, watts: float, gpus: float, snapshot: Snapshot) -> bool:
    """Whether all GPUs of a node are measured, with plausible values."""
    if any(offer.share_milli == 1000 for offer in node.offers):  # noqa: PLR2004 - whole GPUs
        count = sum(offer.count for offer in node.offers)
        if "mig" not in "".join(o.resource for o in node.offers) and gpus < count:
            return False
    most = _most_watts(node, snapshot)
    return gpus > 0 and (most is None or watts <= ABSURD * most)


def _most_watts(node: NodeView, snapshot: Snapshot) -> float | None:
    """The draw of a node's GPUs at their limits; None if unknown."""
    pool = snapshot.pool_by_node.get(node.name)
    if pool is None or pool.spec.power is None:
        return None
    return pool.spec.power.limit_watts * sum(offer.count for offer in node.offers)


def _watts_of_domain(result: Result, domain: PowerDomain, snapshot: Snapshot) -> float | str:
    """The result of a domain's own query, or what is wrong with it."""
    watts = only_value(result, "measuredPowerQuery")
    if isinstance(watts, str):
        return watts
    limits = [_most_watts(node, snapshot) for node in _members(domain, snapshot)]
    known = [limit for limit in limits if limit is not None]
    if known and len(known) == len(limits) and watts > ABSURD * sum(known):
        return f"measuredPowerQuery gives {watts:.0f} W, which its GPUs cannot draw"
    return watts


def _sum_of_nodes(
    domain: PowerDomain, snapshot: Snapshot, nodes: Mapping[str, float], why: str
) -> float | str:
    members = _members(domain, snapshot)
    if why or not members:
        return why or "it has no GPUs"
    silent = [node.name for node in members if node.name not in nodes]
    if not silent:
        return sum(nodes[node.name] for node in members)
    return f"not all GPUs are measured of {first_few(silent)}"


def _members(domain: PowerDomain, snapshot: Snapshot) -> list[NodeView]:
    """The nodes of a domain that have GPUs."""
    return [node for node in snapshot.nodes_by_domain[domain.metadata.name] if node.offers]
