"""For each alert what Prometheus has when it must fire, and what when it must not.

Series are written as promtool takes them, a value a minute: `0+5x60` grows by five for an hour,
`_x9` is nothing for nine minutes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

Series = Mapping[str, str]
WELL: Series = {
    'plimsoll_leader{instance="a"}': "1x240",
    'plimsoll_leader{instance="b"}': "0x240",
    'plimsoll_loop_seconds_count{instance="a"}': "0+60x240",
    'plimsoll_loop_errors_total{instance="a"}': "0x240",
}
"""An operator of two replicas of which nothing is wrong."""


@dataclass(frozen=True, slots=True)
class Case:
    """An alert, the series that differ from `WELL` when it fires, and those when it almost does."""

    alert: str
    fires: Series
    quiet: Series
    minutes: int = 60


_FORBIDDEN = 'plimsoll_api_errors_total{error="Forbidden",verb="patch",resource="nodes"}'
_UNAVAILABLE = 'plimsoll_api_errors_total{error="Unavailable",verb="list",resource="pods"}'
_ANSWERED = 'plimsoll_api_request_duration_seconds_count{verb="list"}'
_AGE = 'plimsoll_prometheus_answer_age_seconds{query="watched_gpus"}'
_PREEMPTED = 'plimsoll_preempted_jobs_total{reason="Preempted"}'
_ADMITTED = 'plimsoll_admitted_jobs_total{queue="default"}'
_FAST, _ALL = 'plimsoll_plan_seconds_bucket{le="10"}', 'plimsoll_plan_seconds_bucket{le="30"}'
_REST = 'plimsoll_plan_seconds_bucket{le="+Inf"}'

CASES = (
    Case(
        "PlimsollHasNoLeader",
        {'plimsoll_leader{instance="a"}': "1x50 0x60"},
        {'plimsoll_leader{instance="a"}': "0x240", 'plimsoll_leader{instance="b"}': "1x240"},
    ),
    Case(
        "PlimsollHasNoLeader",
        dict.fromkeys(WELL, "_x240"),
        {'plimsoll_leader{instance="a"}': "1x58 0x60"},
    ),
    Case(
        "PlimsollHasSeveralLeaders",
        {'plimsoll_leader{instance="b"}': "0x50 1x60"},
        {'plimsoll_leader{instance="b"}': "0x50 1 0x60"},
    ),
    Case(
        "PlimsollStandsStill",
        {'plimsoll_loop_seconds_count{instance="a"}': "0+60x40 2400x60"},
        {'plimsoll_loop_seconds_count{instance="b"}': "0x240"},
    ),
    Case(
        "PlimsollKnowsTooLittle",
        {'plimsoll_watch_staleness_seconds{resource="pods"}': "10x50 0+60x30"},
        {'plimsoll_watch_staleness_seconds{resource="pods"}': "10x50 100x30"},
    ),
    Case(
        "PlimsollTurnsFail",
        {'plimsoll_loop_errors_total{instance="a"}': "0x55 1x60"},
        {'plimsoll_loop_errors_total{instance="a"}': "0x10 3x100"},
    ),
    Case(
        "PlimsollResultsDiffer",
        {'plimsoll_incremental_differences_total{instance="a",part="Problem"}': "0x55 1x60"},
        {'plimsoll_incremental_differences_total{instance="a",part="Problem"}': "3x240"},
    ),
    Case(
        "PlimsollPartFailing",
        {'plimsoll_part_failing{instance="a",part="writer"}': "0x50 1x60"},
        {'plimsoll_part_failing{instance="a",part="writer"}': "0x50 1x1 0x60"},
    ),
    Case(
        "PlimsollPlansSlowly",
        {_FAST: "0+1x240", _ALL: "0+2x240", _REST: "0+2x240"},
        {_FAST: "0+19x240", _ALL: "0+20x240", _REST: "0+20x240"},
    ),
    Case(
        "PlimsollDropsPlans",
        {
            'plimsoll_plans_dropped_total{reason="Stale"}': "0+8x240",
            "plimsoll_plan_seconds_count": "0+10x240",
        },
        {
            'plimsoll_plans_dropped_total{reason="Stale"}': "0+2x240",
            "plimsoll_plan_seconds_count": "0+10x240",
        },
    ),
    Case("PlimsollIsForbidden", {_FORBIDDEN: "1x54 2x60"}, {_FORBIDDEN: "7x240"}),
    Case("PlimsollIsForbidden", {_FORBIDDEN: "_x55 1x60"}, {_FORBIDDEN: "_x20 1x90"}),
    Case(
        "PlimsollCannotReachTheAPIServer",
        {_UNAVAILABLE: "0+20x240", _ANSWERED: "0+100x240"},
        {_UNAVAILABLE: "0+5x240", _ANSWERED: "0+100x240"},
    ),
    Case("PlimsollHearsNothingOfPrometheus", {_AGE: "Inf+0x240"}, {_AGE: "29x240"}),
    Case(
        "PlimsollKnowsNoLoad",
        {'plimsoll_load_gaps_total{gap="NoData"}': "0+2x240"},
        {'plimsoll_load_gaps_total{gap="NoReplica"}': "0+2x240"},
    ),
    Case(
        "PlimsollRefusesWorkers",
        {'plimsoll_worker_requests_total{code="401"}': "_x55 1x60"},
        {'plimsoll_worker_requests_total{code="503"}': "0+9x240"},
    ),
    Case(
        "PlimsollWritesNoSnapshots",
        {'plimsoll_snapshots_total{result="Failed",instance="a"}': "_x55 1x60"},
        {'plimsoll_snapshots_total{result="Written",instance="a"}': "0+1x240"},
    ),
    Case(
        "PlimsollPowerAboveBudget",
        {
            'plimsoll_power_measured_watts{domain="row-a"}': "4600x240",
            'plimsoll_power_budget_watts{domain="row-a"}': "4500x240",
        },
        {
            'plimsoll_power_measured_watts{domain="row-a"}': "4400x240",
            'plimsoll_power_budget_watts{domain="row-a"}': "4500x240",
        },
    ),
    Case(
        "PlimsollPowerUnknown",
        {'plimsoll_power_unknown{domain="row-a"}': "1x240"},
        {'plimsoll_power_unknown{domain="row-a"}': "0x240"},
    ),
    Case(
        "PlimsollCapsAreNotSet",
        {"plimsoll_caps_not_applied": "2x240"},
        {"plimsoll_caps_not_applied": "0x240"},
    ),
    Case("PlimsollFindsFaultyGPUs", {"plimsoll_faulty_gpus": "2x240"}, {_AGE: "29x240"}),
    Case(
        "PlimsollFindsNoExporter",
        {_AGE: "29x240", "plimsoll_watched_gpus": "0x240"},
        {"plimsoll_watched_gpus": "0x240"},
    ),
    Case(
        "PlimsollJobsCannotRun",
        {'plimsoll_pending_jobs{queue="default",status="inadmissible"}': "1x240"},
        {'plimsoll_pending_jobs{queue="default",status="active"}': "9x240"},
        minutes=90,
    ),
    Case(
        "PlimsollOwesGuarantee",
        {'plimsoll_queue_gpus_owed{queue="vision",gpu_type="NVIDIA-L4"}': "0x20 3x220"},
        {'plimsoll_queue_gpus_owed{queue="vision",gpu_type="NVIDIA-L4"}': "0x31 3x50 0 3x160"},
        minutes=90,
    ),
    Case(
        "PlimsollServiceMissesLevel",
        {
            'plimsoll_service_slo_objective_percent{namespace="team",name="chat"}': "99x240",
            'plimsoll_service_slo_attainment_percent{namespace="team",name="chat"}': "98.5x240",
        },
        {
            'plimsoll_service_slo_objective_percent{namespace="team",name="chat"}': "99x240",
            'plimsoll_service_slo_attainment_percent{namespace="team",name="chat"}': "99x240",
            'plimsoll_service_slo_attainment_percent{namespace="team",name="new"}': "50x240",
        },
    ),
    Case(
        "PlimsollCannotBuyNodes",
        {
            'plimsoll_node_failures{pool="spot"}': "0x30 1+1x30",
            'plimsoll_node_shortages_total{pool="spot"}': "_x30 1+1x30",
        },
        {
            'plimsoll_node_failures{pool="spot"}': "9x240",
            'plimsoll_node_shortages_total{pool="spot"}': "9x240",
            'plimsoll_node_failures{pool="other"}': "0x57 1+1x3",
            'plimsoll_node_shortages_total{pool="other"}': "_x57 1+1x3",
        },
    ),
    Case(
        "PlimsollPreemptsMuch",
        {_PREEMPTED: "0+1x240", _ADMITTED: "0+1x240"},
        {_PREEMPTED: "0+1x240", _ADMITTED: "0+9x240"},
        minutes=120,
    ),
    Case(
        "PlimsollDropsEvents",
        {'plimsoll_events_dropped_total{cause="QueueFull"}': "_x55 9x60"},
        {'plimsoll_events_dropped_total{cause="QueueFull"}': "9x240"},
    ),
    Case(
        "PlimsollPowerLimitsNotSet",
        {'plimsoll_agent_unsettled_gpus{instance="c"}': "0x40 1x60"},
        {'plimsoll_agent_unsettled_gpus{instance="c"}': "0x57 1x60"},
    ),
    Case(
        "PlimsollAgentsHearNoOperator",
        {'plimsoll_agent_operator_alive{instance="c"}': "1x40 0x60"},
        {'plimsoll_agent_operator_alive{instance="c"}': "1x57 0x60"},
    ),
    Case(
        "PlimsollLedgerIsBehind",
        {"plimsoll_ledger_accounted_until_timestamp_seconds": "0+60x30 1800x60"},
        {"plimsoll_ledger_accounted_until_timestamp_seconds": "0+60x41 2460x60"},
    ),
)
