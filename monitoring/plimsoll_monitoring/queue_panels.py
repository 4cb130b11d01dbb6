"""Queues: use against guarantee and limit, which jobs wait, and what the use costs.

`$queue` is chosen on the dashboard. A queue's GPUs, dollars and energy include its children's.
"""

from plimsoll_monitoring.expressions import quantiles, rate
from plimsoll_monitoring.panel import Panel, Query, Row

_QUEUE = 'queue=~"$queue"'
_JOULES_PER_KWH = 3_600_000


def _of_type(figure: str, legend: str) -> Query:
    series = f"max by (queue, gpu_type) (plimsoll_queue_gpus_{figure}{{{_QUEUE}}})"
    return Query(series, f"{{{{queue}}}} {{{{gpu_type}}}}{legend}")


def _grown(counter: str, by: str) -> str:
    """PromQL: a counter's growth over the time shown."""
    return f"sum by ({by}) (increase({counter}{{{_QUEUE}}}[$__range]))"


QUEUE_ROWS = (
    Row(
        "GPUs",
        (
            Panel(
                "GPUs used",
                "GPUs that jobs hold.",
                (Query(f"sum by (queue) (plimsoll_queue_gpus_used{{{_QUEUE}}})", "{{queue}}"),),
                kind="stat",
            ),
            Panel(
                "GPUs owed",
                "GPUs of the guarantee that jobs could use and do not have.",
                (Query(f"sum by (queue) (plimsoll_queue_gpus_owed{{{_QUEUE}}})", "{{queue}}"),),
                kind="stat",
                alarm=1,
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
                "Cost",
                "An hour, in the currency of the pools' prices.",
                (
                    Query(
                        f"sum by (queue) (plimsoll_queue_dollars_per_hour{{{_QUEUE}}})",
                        "{{queue}}",
                    ),
                ),
                unit="currencyUSD",
                kind="stat",
            ),
            Panel(
                "Used, guaranteed and limit",
                "GPUs that jobs hold beside those that the queue owns, and the most it may use.",
                (
                    Query(
                        f"sum by (queue, gpu_type) (plimsoll_queue_gpus_used{{{_QUEUE}}})",
                        "{{queue}} {{gpu_type}}",
                    ),
                    _of_type("guaranteed", " guaranteed"),
                    _of_type("limit", " limit"),
                ),
            ),
            Panel(
                "Borrowed and owed",
                "GPUs held beyond the guarantee, and those of it that jobs could use and do not"
                " have.",
                (_of_type("borrowed", " borrowed"), _of_type("owed", " owed")),
            ),
            Panel(
                "Used by pool",
                "Where the jobs run.",
                (
                    Query(
                        f"sum by (queue, pool) (plimsoll_queue_gpus_used{{{_QUEUE}}})",
                        "{{queue}} {{pool}}",
                    ),
                ),
            ),
        ),
    ),
    Row(
        "Jobs",
        (
            Panel(
                "Waiting jobs by reason",
                "Why jobs wait.",
                (
                    Query(
                        f'sum by (queue, reason) (plimsoll_jobs{{state="Waiting",{_QUEUE}}})',
                        "{{queue}} {{reason}}",
                    ),
                ),
            ),
            Panel(
                "GPUs waited for",
                "What waiting jobs need to start, under each type that would do.",
                (_of_type("waiting", ""),),
            ),
            Panel(
                "Admission wait",
                "Time from a job's creation to its admission, for jobs admitted at that time.",
                quantiles("plimsoll_admission_wait_time_seconds", _QUEUE),
                unit="s",
            ),
            Panel(
                "Jobs by state",
                "All jobs of the queue, finished ones until they are deleted.",
                (Query(f"sum by (kind, state) (plimsoll_jobs{{{_QUEUE}}})", "{{kind}} {{state}}"),),
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
                "Preemptions",
                "Jobs that lost their capacity, per second, by reason.",
                (
                    Query(
                        f"sum by (reason) ({rate('plimsoll_preempted_jobs_total', _QUEUE)})",
                        "{{reason}}",
                    ),
                ),
                unit="ops",
            ),
            Panel(
                "Finished",
                "Training jobs that finished, per second.",
                (
                    Query(
                        f"sum by (result) ({rate('plimsoll_finished_jobs_total', _QUEUE)})",
                        "{{result}}",
                    ),
                ),
                unit="ops",
            ),
        ),
    ),
    Row(
        "What it takes",
        (
            Panel(
                "Energy",
                "Of the GPUs used, over the time shown, in pools whose power is known.",
                (
                    Query(
                        f"{_grown('plimsoll_queue_energy_joules_total', 'queue')}"
                        f" / {_JOULES_PER_KWH}",
                        "{{queue}}",
                    ),
                ),
                unit="kwatth",
                kind="stat",
            ),
            Panel(
                "Work lost",
                "GPU-hours of training that stops threw away, over the time shown.",
                (
                    Query(
                        f"{_grown('plimsoll_lost_gpu_seconds_total', 'queue')} / 3600", "{{queue}}"
                    ),
                ),
                unit="h",
                kind="stat",
            ),
            Panel(
                "Dollars an hour",
                "Price of the GPUs used, by pool.",
                (
                    Query(
                        f"max by (queue, pool) (plimsoll_queue_dollars_per_hour{{{_QUEUE}}})",
                        "{{queue}} {{pool}}",
                    ),
                ),
                unit="currencyUSD",
            ),
            Panel(
                "Power",
                "Draw of the GPUs used: measured, or else expected.",
                (
                    Query(
                        f"sum by (queue) ({rate('plimsoll_queue_energy_joules_total', _QUEUE)})",
                        "{{queue}}",
                    ),
                ),
                unit="watt",
            ),
            Panel(
                "Lost work by reason",
                "GPUs' worth of training thrown away by stops.",
                (
                    Query(
                        f"sum by (reason) ({rate('plimsoll_lost_gpu_seconds_total', _QUEUE)})",
                        "{{reason}}",
                    ),
                ),
            ),
        ),
    ),
)
