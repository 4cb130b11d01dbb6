"""When somebody is to be told, and what to say: the alerts, as Prometheus evaluates them.

`critical`: nothing is planned any more, so somebody is to be woken. `warning`: jobs suffer, or
soon will. `info`: worth a look by day. docs/guides/runbook.md has a section for each.
"""

from dataclasses import dataclass
from typing import Any, Literal

from plimsoll_monitoring.thresholds import (
    API_ERROR_SHARE,
    DROPPED_SHARE,
    PLAN_SECONDS,
    PREEMPTED_AT_LEAST,
    PREEMPTED_SHARE,
    PROMETHEUS_SECONDS,
    STALE_SECONDS,
)

RUNBOOK = "docs/guides/runbook.md"
"""Where the sections are; the chart's value prometheusRule.runbookURL takes its place."""

Severity = Literal["critical", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition (PromQL) that holds for a while, and what it is called; texts are templates."""

    name: str
    severity: Severity
    expression: str
    lasting: str
    summary: str
    description: str

    @property
    def runbook(self) -> str:
        """The section of the runbook that is about it."""
        return f"{RUNBOOK}#{self.name.lower()}"


def _came(counter: str, selector: str, by: str, window: str) -> str:
    """A counter went up, or is new: by its first event a labelled counter comes into being as 1.

    `increase` alone does not see that one, for there was no 0 before it.
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
        "No replica of Plimsoll acts",
        "No replica holds the lease, or none is scraped: running jobs go on, nothing is placed.",
    ),
    Alert(
        "PlimsollHasSeveralLeaders",
        "critical",
        "sum(plimsoll_leader) > 1",
        "2m",
        "{{ $value }} operators plan for the same cluster",
        "Two releases of Plimsoll plan for the same nodes and do not know of each other.",
    ),
    Alert(
        "PlimsollStandsStill",
        "critical",
        "plimsoll_leader == 1 and rate(plimsoll_loop_seconds_count[5m]) == 0",
        "5m",
        "{{ $labels.instance }} leads and does not plan",
        "It holds the lease, but its planning loop has not turned for 5 minutes.",
    ),
    Alert(
        "PlimsollKnowsTooLittle",
        "warning",
        f"max by (resource) (plimsoll_watch_staleness_seconds) > {STALE_SECONDS}",
        "2m",
        "What Plimsoll knows of {{ $labels.resource }} is old",
        "There was no proof for {{ $value | humanizeDuration }} that it is current.",
    ),
    Alert(
        "PlimsollTurnsFail",
        "warning",
        "increase(plimsoll_loop_errors_total[10m]) > 0",
        "0m",
        "Turns of the planning loop fail",
        "An unforeseen error ended turns of {{ $labels.instance }}; its log has the traceback.",
    ),
    Alert(
        "PlimsollPartFailing",
        "warning",
        "max by (part, instance) (plimsoll_part_failing) > 0",
        "2m",
        "{{ $labels.part }} of {{ $labels.instance }} fails again and again",
        "This part of the operator is begun anew each time, and fails; the others go on.",
    ),
    Alert(
        "PlimsollPlansSlowly",
        "warning",
        "histogram_quantile(0.9, sum by (le) (rate(plimsoll_plan_seconds_bucket[10m])))"
        f" > {PLAN_SECONDS}",
        "15m",
        "Plans take long",
        "One in ten takes longer than {{ $value | humanizeDuration }}.",
    ),
    Alert(
        "PlimsollDropsPlans",
        "warning",
        "sum(rate(plimsoll_plans_dropped_total[15m]))"
        f" > {DROPPED_SHARE} * sum(rate(plimsoll_plan_seconds_count[15m]))",
        "15m",
        "Most plans are dropped",
        "When they are to be carried out, the cluster is not what they were made for any more.",
    ),
    Alert(
        "PlimsollIsForbidden",
        "warning",
        _came("plimsoll_api_errors_total", 'error="Forbidden"', "verb, resource", "10m"),
        "0m",
        "Plimsoll may not {{ $labels.verb }} {{ $labels.resource }}",
        "The API server refuses it: a right is missing, or a quota or admission rule stops it.",
    ),
    Alert(
        "PlimsollCannotReachTheAPIServer",
        "warning",
        'sum(rate(plimsoll_api_errors_total{error=~"Unavailable|TooManyRequests|Unauthorized"}[5m]))'
        f" > {API_ERROR_SHARE} * sum(rate(plimsoll_api_request_duration_seconds_count[5m]))",
        "10m",
        "The API server does not answer, asks for patience, or does not know Plimsoll",
        "More than one in ten requests fails.",
    ),
    Alert(
        "PlimsollHearsNothingOfPrometheus",
        "warning",
        'max(plimsoll_prometheus_answer_age_seconds{query="watched_gpus"})'
        f" > {PROMETHEUS_SECONDS}",
        "5m",
        "Prometheus does not answer Plimsoll",
        "Faulty GPUs are not left, and services keep the replicas that they have.",
    ),
    Alert(
        "PlimsollKnowsNoLoad",
        "warning",
        'sum by (gap) (increase(plimsoll_load_gaps_total{gap!="NoReplica"}[15m])) > 0',
        "30m",
        "The load of services is not known: {{ $labels.gap }}",
        "Their replicas stay as they are. The condition LoadKnown of each says why.",
    ),
    Alert(
        "PlimsollRefusesWorkers",
        "warning",
        _came("plimsoll_worker_requests_total", 'code=~"400|401|403"', "code", "15m"),
        "0m",
        "Reports of workers are refused ({{ $labels.code }})",
        "What these workers have done is not known, and they are not told before they are stopped.",
    ),
    Alert(
        "PlimsollWritesNoSnapshots",
        "warning",
        _came("plimsoll_snapshots_total", 'result="Failed"', "instance", "30m"),
        "0m",
        "Snapshots cannot be written",
        "What is decided now cannot be replayed later.",
    ),
    Alert(
        "PlimsollPowerAboveBudget",
        "critical",
        "max by (domain) (plimsoll_power_measured_watts - plimsoll_power_budget_watts) > 0",
        "1m",
        "Power domain {{ $labels.domain }} draws {{ $value }} W more than it may",
        "Neither limits on GPUs nor the plans have brought it down: its breaker may trip.",
    ),
    Alert(
        "PlimsollPowerUnknown",
        "warning",
        "max by (domain) (plimsoll_power_unknown) > 0",
        "10m",
        "It is not known what power domain {{ $labels.domain }} draws",
        "Only what is expected counts; no limit on a GPU is set for a rise or lifted.",
    ),
    Alert(
        "PlimsollCapsAreNotSet",
        "warning",
        "max(plimsoll_caps_not_applied) > 0",
        "5m",
        "{{ $value }} nodes do not keep to their power caps",
        "No agent says that the limits of their GPUs are set.",
    ),
    Alert(
        "PlimsollFindsFaultyGPUs",
        "info",
        "max(plimsoll_faulty_gpus) > 0",
        "0m",
        "{{ $value }} GPUs are at fault",
        "They had an error of the hardware within the last 15 minutes; their nodes are left.",
    ),
    Alert(
        "PlimsollFindsNoExporter",
        "info",
        "max(plimsoll_watched_gpus) == 0 and on ()"
        ' min(plimsoll_prometheus_answer_age_seconds{query="watched_gpus"})'
        f" < {PROMETHEUS_SECONDS}",
        "30m",
        "No exporter tells of errors of GPUs",
        "Prometheus answers, but has no series of the DCGM exporter: faulty GPUs are not left.",
    ),
    Alert(
        "PlimsollJobsCannotRun",
        "info",
        'max by (queue) (plimsoll_pending_jobs{status="inadmissible"}) > 0',
        "1h",
        "{{ $value }} jobs of queue {{ $labels.queue }} cannot run as things are",
        "Waiting does not help them: the job, the queue or the cluster must change.",
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
        "Users miss some of what happened to their jobs; statuses and conditions have it.",
    ),
    Alert(
        "PlimsollPowerLimitsNotSet",
        "warning",
        "sum(plimsoll_agent_unsettled_gpus) > 0",
        "5m",
        "{{ $value }} GPUs have not got the power limit that they should have",
        "Caps there save less than is wanted; other jobs of the power domain pay for it.",
    ),
    Alert(
        "PlimsollAgentsHearNoOperator",
        "warning",
        "count(plimsoll_agent_operator_alive == 0) > 0",
        "5m",
        "{{ $value }} agents see no sign of life of the operator",
        "They have restored, or will restore, the default power limits of their GPUs.",
    ),
)


def rule_groups() -> dict[str, Any]:
    """The alerts as a file of rules for Prometheus, which is the spec of a PrometheusRule, too."""
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
