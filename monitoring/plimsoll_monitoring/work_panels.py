"""Users' work: the rows of jobs and services.

`$queue` and `$namespace` are chosen on the dashboard.
"""

from plimsoll_monitoring.expressions import quantiles, rate
from plimsoll_monitoring.panel import Panel, Query, Row

_QUEUE = 'queue=~"$queue"'
_SERVICE = 'namespace=~"$namespace"'

WORK_ROWS = (
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
                "Running jobs",
                "Jobs that hold capacity.",
                (Query(f"sum(plimsoll_running_jobs{{{_QUEUE}}})", ""),),
                kind="stat",
            ),
            Panel(
                "Waiting jobs",
                "Jobs that start once capacity is free.",
                (Query(f'sum(plimsoll_pending_jobs{{status="active",{_QUEUE}}})', ""),),
                kind="stat",
            ),
            Panel(
                "Inadmissible jobs",
                "Waiting will not help these: the job, the queue or the cluster must change.",
                (Query(f'sum(plimsoll_pending_jobs{{status="inadmissible",{_QUEUE}}})', ""),),
                kind="stat",
                alarm=1,
            ),
            Panel(
                "Faulty GPUs",
                "GPUs with a hardware error within the last 15 minutes.",
                (Query("max(plimsoll_faulty_gpus)", ""),),
                kind="stat",
                alarm=1,
            ),
            Panel(
                "Optimality gap",
                "Gap of the last plan to the best proven bound.",
                (Query("max(plimsoll_plan_gap_percent and plimsoll_leader == 1)", ""),),
                unit="percent",
                kind="stat",
            ),
        ),
    ),
    Row(
        "Jobs",
        (
            Panel(
                "Waiting jobs by queue",
                "active: starts once capacity is free; inadmissible: cannot run as things are.",
                (
                    Query(
                        f"max by (queue, status) (plimsoll_pending_jobs{{{_QUEUE}}})",
                        "{{queue}} {{status}}",
                    ),
                ),
            ),
            Panel(
                "Running jobs by queue",
                "Jobs that hold capacity.",
                (Query(f"max by (queue) (plimsoll_running_jobs{{{_QUEUE}}})", "{{queue}}"),),
            ),
            Panel(
                "Admission wait",
                "Time from a job's creation to its admission, for jobs admitted at that time.",
                quantiles("plimsoll_admission_wait_time_seconds", _QUEUE),
                unit="s",
            ),
            Panel(
                "Admissions",
                "Jobs admitted per second.",
                (
                    Query(
                        f"sum by (queue) ({rate('plimsoll_admitted_jobs_total', _QUEUE)})",
                        "{{queue}}",
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Evictions",
                "Jobs that lost their capacity, per second, by reason.",
                (
                    Query(
                        f"sum by (reason) ({rate('plimsoll_preempted_jobs_total')})", "{{reason}}"
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Finished",
                "Training jobs that finished, per second.",
                (Query(f"sum by (result) ({rate('plimsoll_finished_jobs_total')})", "{{result}}"),),
                unit="ops",
            ),
        ),
    ),
    Row(
        "Services",
        (
            Panel(
                "Wanted replicas",
                "Replicas that the load requires, after windows and limits.",
                (
                    Query(
                        "max by (namespace, name, role)"
                        f" (plimsoll_service_wanted_replicas{{{_SERVICE}}})",
                        "{{namespace}}/{{name}} {{role}}",
                    ),
                ),
            ),
            Panel(
                "Current load",
                "In the unit of the profiles.",
                (
                    Query(
                        "max by (namespace, name, role, bucket)"
                        f" (plimsoll_service_observed_load{{{_SERVICE}}})",
                        "{{namespace}}/{{name}} {{role}} {{bucket}}",
                    ),
                ),
            ),
            Panel(
                "Forecast and wanted load",
                "Forecast within the horizon at its quantile; load that replicas are sized for.",
                (
                    Query(
                        "max by (namespace, name, role, bucket)"
                        f" (plimsoll_service_foreseen_load{{{_SERVICE}}})",
                        "{{namespace}}/{{name}} {{role}} {{bucket}} forecast",
                    ),
                    Query(
                        "max by (namespace, name, role, bucket)"
                        f" (plimsoll_service_wanted_load{{{_SERVICE}}})",
                        "{{namespace}}/{{name}} {{role}} {{bucket}} wanted",
                    ),
                ),
            ),
            Panel(
                "Load measurements without result",
                "Per second, by cause.",
                (Query(f"sum by (gap) ({rate('plimsoll_load_gaps_total')})", "{{gap}}"),),
                unit="ops",
            ),
        ),
    ),
)
