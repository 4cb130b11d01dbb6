"""The alerts, as Prometheus evaluates them.

`critical`: wake somebody; nothing is planned, several operators plan, or power is over budget.
`warning`: jobs suffer, or soon will. `info`: worth a look in working hours. docs/guides/runbook.md
has a section for each.
"""

from dataclasses import dataclass
from typing import Any, Literal

from plimsoll_monitoring.thresholds import (
    API_ERROR_SHARE,
    DROPPED_SHARE,
    LEDGER_SECONDS,
    NODE_FAILURES,
    PLAN_SECONDS,
    PREEMPTED_AT_LEAST,
    PREEMPTED_SHARE,
    PROMETHEUS_SECONDS,
    STALE_SECONDS,
)

RUNBOOK = "docs/guides/runbook.md"
"""Where the sections are; the chart's value prometheusRule.runbookURL replaces it."""

Severity = Literal["critical", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition (PromQL) that must hold for a while, and its texts, which are templates."""

    name: str
    severity: Severity
    expression: str
    lasting: str
    summary: str
    description: str

    @property
    def runbook(self) -> str:
        """The runbook's section about it."""
        return f"{RUNBOOK}#{self.name.lower()}"


def _came(counter: str, selector: str, by: str, window: str) -> str:
    """A counter rose or is new: a labelled counter first appears with its first event, as 1.

    `increase` alone misses that event, because there was no 0 before it.
    """
    series = f"{counter}{{{selector}}}" if selector else counter
    return (
        f"sum by ({by}) (increase({series}[{window}])) > 0"
        f" or sum by ({by}) ({series} unless {series} offset {window}) > 0"
    )


ALERTS = (
    Alert(
        "PlimsollHasNoLeader",
        "critical",
        "absent(plimsoll_leader) or sum(plimsoll_leader) < 1",
        "2m",
        "No replica of Plimsoll is leading",
        "No replica holds the lease, or none is scraped: running jobs go on, none are placed.",
    ),
    Alert(
        "PlimsollHasSeveralLeaders",
        "critical",
        "sum(plimsoll_leader) > 1",
        "2m",
        "{{ $value }} operators plan for the same cluster",
        "Several releases of Plimsoll plan for the same nodes, unaware of each other.",
    ),
    Alert(
        "PlimsollStandsStill",
        "critical",
        "plimsoll_leader == 1 and rate(plimsoll_loop_seconds_count[5m]) == 0",
        "5m",
        "{{ $labels.instance }} leads but does not plan",
        "It holds the lease, but its planning loop has stood still for 5 minutes.",
    ),
    Alert(
        "PlimsollKnowsTooLittle",
        "warning",
        f"max by (resource) (plimsoll_watch_staleness_seconds) > {STALE_SECONDS}",
        "2m",
        "Plimsoll's view of {{ $labels.resource }} is stale",
        "It was last confirmed to be current {{ $value | humanizeDuration }} ago.",
    ),
    Alert(
        "PlimsollTurnsFail",
        "warning",
        "increase(plimsoll_loop_errors_total[10m]) > 0",
        "0m",
        "The planning loop is failing",
        "Unexpected errors occur in {{ $labels.instance }}; its log has the tracebacks.",
    ),
    Alert(
        "PlimsollResultsDiffer",
        "warning",
        "increase(plimsoll_incremental_differences_total[2h]) > 0",
        "0m",
        "What {{ $labels.instance }} keeps of the {{ $labels.part }} is not what is true",
        "Plans may rest on it; its log names the jobs or nodes. Restart it, and report that.",
    ),
    Alert(
        "PlimsollPartFailing",
        "warning",
        "max by (part, instance) (plimsoll_part_failing) > 0",
        "2m",
        "{{ $labels.part }} of {{ $labels.instance }} keeps failing",
        "This part of the operator fails each time it is restarted; the others keep running.",
    ),
    Alert(
        "PlimsollPlansSlowly",
        "warning",
        "histogram_quantile(0.9, sum by (le) (rate(plimsoll_plan_seconds_bucket[10m])))"
        f" > {PLAN_SECONDS}",
        "15m",
        "Planning is slow",
        "One plan in ten takes longer than {{ $value | humanizeDuration }}.",
    ),
    Alert(
        "PlimsollDropsPlans",
        "warning",
        "sum(rate(plimsoll_plans_dropped_total[15m]))"
        f" > {DROPPED_SHARE} * sum(rate(plimsoll_plan_seconds_count[15m]))",
        "15m",
        "Most plans are dropped",
        "By the time they are ready, the cluster is no longer as they assume.",
    ),
    Alert(
        "PlimsollIsForbidden",
        "warning",
        _came("plimsoll_api_errors_total", 'error="Forbidden"', "verb, resource", "10m"),
        "0m",
        "Plimsoll may not {{ $labels.verb }} {{ $labels.resource }}",
        "The API server refuses it: a permission is missing, or a quota or policy forbids it.",
    ),
    Alert(
        "PlimsollCannotReachTheAPIServer",
        "warning",
        'sum(rate(plimsoll_api_errors_total{error=~"Unavailable|TooManyRequests|Unauthorized"}[5m]))'
        f" > {API_ERROR_SHARE} * sum(rate(plimsoll_api_request_duration_seconds_count[5m]))",
        "10m",
        "The API server is unavailable, throttles Plimsoll, or rejects its credentials",
        "More than one request in ten fails.",
    ),
    Alert(
        "PlimsollHearsNothingOfPrometheus",
        "warning",
        'max(plimsoll_prometheus_answer_age_seconds{query="watched_gpus"})'
        f" > {PROMETHEUS_SECONDS}",
        "5m",
        "Prometheus does not answer Plimsoll",
        "Faulty GPUs are not vacated, and services keep their current replicas.",
    ),
    Alert(
        "PlimsollKnowsNoLoad",
        "warning",
        'sum by (gap) (increase(plimsoll_load_gaps_total{gap!="NoReplica"}[15m])) > 0',
        "30m",
        "The load of some services is unknown: {{ $labels.gap }}",
        "They keep their current replicas. Each service's condition LoadKnown says why.",
    ),
    Alert(
        "PlimsollRefusesWorkers",
        "warning",
        _came("plimsoll_worker_requests_total", 'code=~"400|401|403"', "code", "15m"),
        "0m",
        "Workers' reports are refused ({{ $labels.code }})",
        "These workers' progress is unknown, and they get no notice before they are stopped.",
    ),
    Alert(
        "PlimsollWritesNoSnapshots",
        "warning",
        _came("plimsoll_snapshots_total", 'result="Failed"', "instance", "30m"),
        "0m",
        "Snapshots cannot be written",
        "Decisions made now cannot be replayed later.",
    ),
    Alert(
        "PlimsollPowerAboveBudget",
        "critical",
        "max by (domain) (plimsoll_power_measured_watts - plimsoll_power_budget_watts) > 0",
        "1m",
        "Power domain {{ $labels.domain }} is {{ $value }} W over its budget",
        "Neither power caps nor plans have brought it down: its breaker may trip.",
    ),
    Alert(
        "PlimsollPowerUnknown",
        "warning",
        "max by (domain) (plimsoll_power_unknown) > 0",
        "10m",
        "The power draw of domain {{ $labels.domain }} is unknown",
        "Plans rely on expected power; no GPU is capped for a rise in draw, and no cap is lifted.",
    ),
    Alert(
        "PlimsollCapsAreNotSet",
        "warning",
        "max(plimsoll_caps_not_applied) > 0",
        "5m",
        "{{ $value }} nodes have not applied their power caps",
        "No agent has confirmed the power limits of their GPUs.",
    ),
    Alert(
        "PlimsollFindsFaultyGPUs",
        "info",
        "max(plimsoll_faulty_gpus) > 0",
        "0m",
        "{{ $value }} GPUs are faulty",
        "They had hardware errors within the last 15 minutes; their nodes are being vacated.",
    ),
    Alert(
        "PlimsollFindsNoExporter",
        "info",
        "max(plimsoll_watched_gpus) == 0 and on ()"
        ' min(plimsoll_prometheus_answer_age_seconds{query="watched_gpus"})'
        f" < {PROMETHEUS_SECONDS}",
        "30m",
        "No exporter reports GPU errors",
        "Prometheus has no series of the DCGM exporter: faulty GPUs are not vacated.",
    ),
    Alert(
        "PlimsollJobsCannotRun",
        "info",
        'max by (queue) (plimsoll_pending_jobs{status="inadmissible"}) > 0',
        "1h",
        "{{ $value }} jobs of queue {{ $labels.queue }} are inadmissible",
        "Waiting will not help: the job, the queue or the cluster must change.",
    ),
    Alert(
        "PlimsollOwesGuarantee",
        "warning",
        "max by (queue, gpu_type) (plimsoll_queue_gpus_owed) > 0",
        "1h",
        "Queue {{ $labels.queue }} lacks {{ $value }} guaranteed {{ $labels.gpu_type }}",
        "Its jobs have waited for an hour for GPUs that the queue owns.",
    ),
    Alert(
        "PlimsollServiceMissesLevel",
        "warning",
        "max by (namespace, name) (plimsoll_service_slo_objective_percent"
        " - plimsoll_service_slo_attainment_percent) > 0",
        "30m",
        "InferenceJob {{ $labels.namespace }}/{{ $labels.name }} misses its service level",
        "The share of requests that meet it is {{ $value | humanize }} points below its objective.",
    ),
    Alert(
        "PlimsollCannotBuyNodes",
        "warning",
        f"max by (pool) (plimsoll_node_failures) >= {NODE_FAILURES} and"
        " sum by (pool) (increase(plimsoll_node_shortages_total[1h])) > 0",
        "0m",
        "Nodes of GPUPool {{ $labels.pool }} cannot be had",
        "{{ $value }} orders in a row could not be met; jobs wait, or get dearer nodes elsewhere.",
    ),
    Alert(
        "PlimsollPreemptsMuch",
        "info",
        'sum(increase(plimsoll_preempted_jobs_total{reason=~"Preempted|InCohortReclamation"}[1h]))'
        f" > {PREEMPTED_AT_LEAST} and"
        ' sum(increase(plimsoll_preempted_jobs_total{reason=~"Preempted|InCohortReclamation"}[1h]))'
        f" > {PREEMPTED_SHARE} * sum(increase(plimsoll_admitted_jobs_total[1h]))",
        "30m",
        "Jobs are preempted often",
        "{{ $value | humanize }} in the last hour, more than half as many as were admitted.",
    ),
    Alert(
        "PlimsollDropsEvents",
        "info",
        _came("plimsoll_events_dropped_total", "", "cause", "15m"),
        "0m",
        "Events are not written ({{ $labels.cause }})",
        "Users miss some events of their jobs; statuses and conditions are complete.",
    ),
    Alert(
        "PlimsollPowerLimitsNotSet",
        "warning",
        "sum(plimsoll_agent_unsettled_gpus) > 0",
        "5m",
        "{{ $value }} GPUs do not have the intended power limit",
        "Caps there save too little; other jobs of the power domain pay for it.",
    ),
    Alert(
        "PlimsollAgentsHearNoOperator",
        "warning",
        "count(plimsoll_agent_operator_alive == 0) > 0",
        "5m",
        "{{ $value }} agents see no sign of life from the operator",
        "They have restored, or will restore, their GPUs' default power limits.",
    ),
    Alert(
        "PlimsollLedgerIsBehind",
        "warning",
        f"time() - max(plimsoll_ledger_accounted_until_timestamp_seconds) > {LEDGER_SECONDS}",
        "5m",
        "Usage of the last {{ $value | humanizeDuration }} is not in the ledger",
        "The console cannot write it; what ends meanwhile without a trace stays unaccounted.",
    ),
)


def rule_groups() -> dict[str, Any]:
    """The alerts as a Prometheus rule file, which is also the spec of a PrometheusRule."""
    return {"groups": [{"name": "plimsoll", "rules": [_rule(alert) for alert in ALERTS]}]}


def _rule(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.lasting,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": alert.runbook,
        },
    }
