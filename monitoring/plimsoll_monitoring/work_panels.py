"""What users' work does: the rows of jobs and services.

`$queue` and `$namespace` are chosen on the dashboard.
"""

from plimsoll_monitoring.expressions import quantiles, rate
from plimsoll_monitoring.panel import Panel, Query, Row

_QUEUE = 'queue=~"$queue"'
_SERVICE = 'namespace=~"$namespace"'

WORK_ROWS = (
    Row(
        "Is it well?",
        (
            Panel(
                "Leaders",
                "Exactly one replica acts.",
                (Query("sum(plimsoll_leader)", ""),),
                unit="none",
                kind="stat",
                alarm=2,
            ),
            Panel(
                "Jobs that run",
                "Jobs that hold capacity.",
                (Query(f"sum(plimsoll_running_jobs{{{_QUEUE}}})", ""),),
                kind="stat",
            ),
            Panel(
                "Jobs that wait",
                "Jobs that can start once there is room.",
                (Query(f'sum(plimsoll_pending_jobs{{status="active",{_QUEUE}}})', ""),),
                kind="stat",
            ),
            Panel(
                "Jobs that cannot run",
                "Waiting does not help these: a job, a queue or the cluster must change.",
                (Query(f'sum(plimsoll_pending_jobs{{status="inadmissible",{_QUEUE}}})', ""),),
                kind="stat",
                alarm=1,
            ),
            Panel(
                "Faulty GPUs",
                "GPUs that had an error of the hardware within the last 15 minutes.",
                (Query("max(plimsoll_faulty_gpus)", ""),),
                kind="stat",
                alarm=1,
            ),
            Panel(
                "Gap of the last plan",
                "How far from the best that can be proven it may be.",
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
                "active: there is no room now; inadmissible: it cannot run as things are.",
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
                "Time until jobs are admitted",
                "From a job's creation to its admission, of the jobs that were admitted then.",
                quantiles("plimsoll_admission_wait_time_seconds", _QUEUE),
                unit="s",
            ),
            Panel(
                "Admitted",
                "Jobs that were given capacity, per second.",
                (
                    Query(
                        f"sum by (queue) ({rate('plimsoll_admitted_jobs_total', _QUEUE)})",
                        "{{queue}}",
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Capacity taken away",
                "Jobs that lost their place, per second, by reason.",
                (
                    Query(
                        f"sum by (reason) ({rate('plimsoll_preempted_jobs_total')})", "{{reason}}"
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Ended",
                "Training jobs that ended, per second.",
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
                "What the load asks for, after windows and limits.",
                (
                    Query(
                        "max by (namespace, name, role)"
                        f" (plimsoll_service_wanted_replicas{{{_SERVICE}}})",
                        "{{namespace}}/{{name}} {{role}}",
                    ),
                ),
            ),
            Panel(
                "Load: now",
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
                "Load: foreseen, and to be carried",
                "Within the horizon at its quantile, and what the replicas are planned for.",
                (
                    Query(
                        "max by (namespace, name, role, bucket)"
                        f" (plimsoll_service_foreseen_load{{{_SERVICE}}})",
                        "{{namespace}}/{{name}} {{role}} {{bucket}} foreseen",
                    ),
                    Query(
                        "max by (namespace, name, role, bucket)"
                        f" (plimsoll_service_wanted_load{{{_SERVICE}}})",
                        "{{namespace}}/{{name}} {{role}} {{bucket}} to be carried",
                    ),
                ),
            ),
            Panel(
                "Loads that could not be read",
                "Looks per second at the load of a role that told none, by what was wrong.",
                (Query(f"sum by (gap) ({rate('plimsoll_load_gaps_total')})", "{{gap}}"),),
                unit="ops",
            ),
        ),
    ),
)
