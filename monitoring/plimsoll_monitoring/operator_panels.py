"""What the operator does: the rows of plans, the API server, Prometheus and workers."""

from plimsoll_monitoring.expressions import quantiles, rate
from plimsoll_monitoring.panel import Panel, Query, Row
from plimsoll_monitoring.thresholds import PLAN_SECONDS, PROMETHEUS_SECONDS, STALE_SECONDS

OPERATOR_ROWS = (
    Row(
        "Plans",
        (
            Panel(
                "Time for a plan",
                "From the snapshot to the plan.",
                quantiles("plimsoll_plan_seconds"),
                unit="s",
                alarm=PLAN_SECONDS,
            ),
            Panel(
                "Plans by outcome",
                "Optimal: proven the best; Improved: better than the heuristic's; Greedy: not;"
                " TimedOut: no time to look.",
                (
                    Query(
                        f"sum by (outcome) ({rate('plimsoll_plan_seconds_count')})", "{{outcome}}"
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Time for a turn",
                "Observe, plan and act.",
                quantiles("plimsoll_loop_seconds"),
                unit="s",
            ),
            Panel(
                "Plans that were dropped, turns that failed",
                "Per second. A dropped plan is made again; a failed turn should not be.",
                (
                    Query(
                        f"sum by (reason) ({rate('plimsoll_plans_dropped_total')})",
                        "dropped: {{reason}}",
                    ),
                    Query(f"sum({rate('plimsoll_loop_errors_total')})", "failed"),
                    Query(
                        f"sum by (stage) ({rate('plimsoll_faults_total')})",
                        "objects set aside: {{stage}}",
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Parts that fail, errors that cost one object",
                "Per second; neither should be. And how many parts fail again and again.",
                (
                    Query(
                        f"sum by (part) ({rate('plimsoll_part_restarts_total')})",
                        "begun anew: {{part}}",
                    ),
                    Query("sum(plimsoll_part_failing)", "keep failing"),
                    Query(
                        f"sum by (doing) ({rate('plimsoll_object_errors_total')})",
                        "one object: {{doing}}",
                    ),
                ),
            ),
            Panel(
                "Snapshot files",
                "Per second, where they are written.",
                (Query(f"sum by (result) ({rate('plimsoll_snapshots_total')})", "{{result}}"),),
                unit="ops",
            ),
        ),
    ),
    Row(
        "The API server",
        (
            Panel(
                "Time for a request",
                "Waiting for its turn included; nine in ten are faster.",
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
                "Per second.",
                (
                    Query(
                        f"sum by (verb, resource) ({rate('plimsoll_api_writes_total')})",
                        "{{verb}} {{resource}}",
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Requests that failed",
                "Per second. NotFound, Conflict and AlreadyExists are a part of daily life.",
                (
                    Query(
                        f"sum by (error, resource) ({rate('plimsoll_api_errors_total')})",
                        "{{error}} {{resource}}",
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Age of what is known",
                "Since the last proof that it is current; some 25 s in a quiet cluster are normal.",
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
                "What memory grows with.",
                (
                    Query("max by (resource) (plimsoll_watched_objects)", "{{resource}}"),
                    Query(
                        "max(sum by (instance) (plimsoll_unread_objects))", "that cannot be read"
                    ),
                ),
            ),
            Panel(
                "Lists from the start, events that were lost",
                "Per second.",
                (
                    Query(
                        f"sum by (resource) ({rate('plimsoll_watch_relists_total')})",
                        "listed: {{resource}}",
                    ),
                    Query(
                        f"sum by (cause) ({rate('plimsoll_events_dropped_total')})",
                        "lost: {{cause}}",
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
                "Since the last good one. Loads are asked for only while there are services.",
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
                "Per second, by how they ended.",
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
                "GPUs that are watched, and that are at fault",
                "Of how many GPUs Prometheus tells errors; it should be all.",
                (
                    Query("max(plimsoll_watched_gpus)", "watched"),
                    Query("max(plimsoll_faulty_gpus)", "at fault"),
                ),
            ),
            Panel(
                "Workers that report",
                "Those that were heard of in the last ten minutes.",
                (Query("max(plimsoll_reporting_workers)", "workers"),),
            ),
            Panel(
                "Requests of workers",
                "Per second, by answer; replicas that stand by answer 503.",
                (Query(f"sum by (code) ({rate('plimsoll_worker_requests_total')})", "{{code}}"),),
                unit="ops",
            ),
            Panel(
                "Connections of workers",
                "Each has two. Who sends no good token in time, or too much junk, is closed out.",
                (
                    Query("max(plimsoll_worker_connections)", "open"),
                    Query(
                        f"sum by (cause) ({rate('plimsoll_worker_connections_refused_total')})",
                        "closed a second: {{cause}}",
                    ),
                    Query(
                        f"sum by (result) ({rate('plimsoll_token_reviews_total')})",
                        "tokens a second: {{result}}",
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
