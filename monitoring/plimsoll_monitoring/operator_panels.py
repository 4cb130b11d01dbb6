"""The operator: the rows of an overview, plans, the API server, Prometheus and workers."""

from plimsoll_monitoring.expressions import quantiles, rate
from plimsoll_monitoring.panel import Panel, Query, Row
from plimsoll_monitoring.thresholds import PLAN_SECONDS, PROMETHEUS_SECONDS, STALE_SECONDS

OPERATOR_ROWS = (
    Row(
        "Overview",
        (
            Panel(
                "Leaders",
                "Exactly one replica should lead.",
                (Query("sum(plimsoll_leader)", ""),),
                unit="none",
                kind="stat",
                alarm=2,
            ),
            Panel(
                "Optimality gap",
                "Gap of the last plan to the best proven bound.",
                (Query("max(plimsoll_plan_gap_percent and plimsoll_leader == 1)", ""),),
                unit="percent",
                kind="stat",
            ),
            Panel(
                "Jobs",
                "Of all queues, running and waiting.",
                (Query("sum(plimsoll_jobs)", ""),),
                kind="stat",
            ),
            Panel(
                "GPUs",
                "All GPUs of the cluster.",
                (Query("sum(plimsoll_gpus)", ""),),
                kind="stat",
            ),
        ),
    ),
    Row(
        "Plans",
        (
            Panel(
                "Planning time",
                "Time the solver takes for a plan.",
                quantiles("plimsoll_plan_seconds"),
                unit="s",
                alarm=PLAN_SECONDS,
            ),
            Panel(
                "Plans by outcome",
                "Optimal: proven best; Improved: better than the heuristic's; Greedy: no better;"
                " TimedOut: no time to search.",
                (
                    Query(
                        f"sum by (outcome) ({rate('plimsoll_plan_seconds_count')})", "{{outcome}}"
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Turn duration",
                "One turn of the planning loop: observe, plan and act.",
                quantiles("plimsoll_loop_seconds"),
                unit="s",
            ),
            Panel(
                "CPU of turns by part",
                "Cores that the planning loop takes, without searches for plans.",
                (Query(f"sum by (part) ({rate('plimsoll_loop_cpu_seconds_total')})", "{{part}}"),),
            ),
            Panel(
                "Dropped plans, failed turns",
                "Per second. A dropped plan is made anew; a turn should never fail, nor results"
                " that are kept differ from new ones.",
                (
                    Query(
                        f"sum by (reason) ({rate('plimsoll_plans_dropped_total')})",
                        "dropped: {{reason}}",
                    ),
                    Query(f"sum({rate('plimsoll_loop_errors_total')})", "failed"),
                    Query(
                        f"sum by (part) ({rate('plimsoll_incremental_differences_total')})",
                        "differing: {{part}}",
                    ),
                    Query(
                        f"sum by (stage) ({rate('plimsoll_faults_total')})",
                        "objects set aside: {{stage}}",
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Failing parts, errors of single objects",
                "Restarts and errors per second, and parts that keep failing. All should be 0.",
                (
                    Query(
                        f"sum by (part) ({rate('plimsoll_part_restarts_total')})",
                        "restarted: {{part}}",
                    ),
                    Query("sum(plimsoll_part_failing)", "keep failing"),
                    Query(
                        f"sum by (doing) ({rate('plimsoll_object_errors_total')})",
                        "error: {{doing}}",
                    ),
                ),
            ),
            Panel(
                "Snapshot files",
                "Files written or failed, per second, if snapshots are enabled.",
                (Query(f"sum by (result) ({rate('plimsoll_snapshots_total')})", "{{result}}"),),
                unit="ops",
            ),
        ),
    ),
    Row(
        "The API server",
        (
            Panel(
                "Request duration",
                "90th percentile, including the wait to be sent.",
                (
                    Query(
                        "histogram_quantile(0.9, sum by (verb, le)"
                        f" ({rate('plimsoll_api_request_duration_seconds_bucket')}))",
                        "{{verb}}",
                    ),
                ),
                unit="s",
            ),
            Panel(
                "Writes",
                "Per second, and how many may be in flight.",
                (
                    Query(
                        f"sum by (verb, resource) ({rate('plimsoll_api_writes_total')})",
                        "{{verb}} {{resource}}",
                    ),
                    Query("max(plimsoll_api_writes_at_once)", "in flight at most"),
                ),
                unit="ops",
            ),
            Panel(
                "Failed requests",
                "Per second. NotFound, Conflict and AlreadyExists are normal.",
                (
                    Query(
                        f"sum by (error, resource) ({rate('plimsoll_api_errors_total')})",
                        "{{error}} {{resource}}",
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Age of watched objects",
                "Time since last confirmed current; about 25 s is normal in a quiet cluster.",
                (
                    Query(
                        "max by (resource) (plimsoll_watch_staleness_seconds)",
                        "{{resource}}",
                    ),
                ),
                unit="s",
                alarm=STALE_SECONDS,
            ),
            Panel(
                "Objects in memory",
                "The operator's memory use grows with these.",
                (
                    Query("max by (resource) (plimsoll_watched_objects)", "{{resource}}"),
                    Query("max(sum by (instance) (plimsoll_unread_objects))", "unreadable"),
                ),
            ),
            Panel(
                "Full lists, dropped events",
                "Per second.",
                (
                    Query(
                        f"sum by (resource) ({rate('plimsoll_watch_relists_total')})",
                        "listed: {{resource}}",
                    ),
                    Query(
                        f"sum by (cause) ({rate('plimsoll_events_dropped_total')})",
                        "dropped: {{cause}}",
                    ),
                ),
                unit="ops",
            ),
        ),
    ),
    Row(
        "Prometheus and workers",
        (
            Panel(
                "Age of Prometheus's answers",
                "Time since the last good one. Loads are queried only while there are services.",
                (
                    Query(
                        "min by (query) (plimsoll_prometheus_answer_age_seconds)",
                        "{{query}}",
                    ),
                ),
                unit="s",
                alarm=PROMETHEUS_SECONDS,
            ),
            Panel(
                "Queries to Prometheus",
                "Per second, by outcome.",
                (
                    Query(
                        f"sum by (query, outcome) ({rate('plimsoll_prometheus_queries_total')})",
                        "{{query}} {{outcome}}",
                    ),
                    Query(
                        "sum by (query, flaw)"
                        f" ({rate('plimsoll_prometheus_flawed_samples_total')})",
                        "{{query}} flawed: {{flaw}}",
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Load measurements without result",
                "Per second, by cause.",
                (Query(f"sum by (gap) ({rate('plimsoll_load_gaps_total')})", "{{gap}}"),),
                unit="ops",
            ),
            Panel(
                "Watched and faulty GPUs",
                "GPUs for which Prometheus has error metrics (should be all), and faulty ones.",
                (
                    Query("max(plimsoll_watched_gpus)", "watched"),
                    Query("max(plimsoll_faulty_gpus)", "faulty"),
                ),
            ),
            Panel(
                "Reporting workers",
                "Workers that have reported within the last ten minutes.",
                (Query("max(plimsoll_reporting_workers)", "workers"),),
            ),
            Panel(
                "Workers' requests",
                "Per second, by HTTP status; standby replicas answer 503.",
                (Query(f"sum by (code) ({rate('plimsoll_worker_requests_total')})", "{{code}}"),),
                unit="ops",
            ),
            Panel(
                "Workers' connections",
                "Two per worker. Clients without a valid token, or refused too often, are cut off.",
                (
                    Query("max(plimsoll_worker_connections)", "open"),
                    Query(
                        f"sum by (cause) ({rate('plimsoll_worker_connections_refused_total')})",
                        "closed per second: {{cause}}",
                    ),
                    Query(
                        f"sum by (result) ({rate('plimsoll_token_reviews_total')})",
                        "tokens per second: {{result}}",
                    ),
                ),
            ),
            Panel(
                "Stragglers",
                "Workers much slower than their gang, per second.",
                (Query(f"sum by (result) ({rate('plimsoll_stragglers_total')})", "{{result}}"),),
                unit="ops",
            ),
        ),
    ),
)
