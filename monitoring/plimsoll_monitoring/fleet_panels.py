"""The fleet: how many GPUs are used, by whom, what stands idle, and what went wrong."""

from plimsoll_monitoring.expressions import rate
from plimsoll_monitoring.panel import Panel, Query, Row


def _state(state: str) -> str:
    return f'sum(plimsoll_gpus{{state="{state}"}})'


def _dollars(selector: str) -> str:
    """PromQL: what some GPUs cost an hour, by pool."""
    gpus = f"sum by (pool) (plimsoll_gpus{{{selector}}})"
    return f"sum by (pool) ({gpus} * on (pool) max by (pool) (plimsoll_gpu_dollars_per_hour))"


FLEET_ROWS = (
    Row(
        "Fleet",
        (
            Panel(
                "GPUs",
                "All GPUs of the cluster.",
                (Query("sum(plimsoll_gpus)", ""),),
                kind="stat",
            ),
            Panel(
                "Used",
                "Share of the GPUs that jobs hold.",
                (Query(f"100 * {_state('Used')} / sum(plimsoll_gpus)", ""),),
                unit="percent",
                kind="stat",
            ),
            Panel(
                "Idle",
                "GPUs that could be used and are not.",
                (Query(_state("Idle"), ""),),
                kind="stat",
            ),
            Panel(
                "Unusable",
                "GPUs of nodes that are broken, quarantined or not ready.",
                (Query(_state("Unusable"), ""),),
                kind="stat",
                alarm=1,
            ),
            Panel(
                "Jobs waiting",
                "Jobs that start once capacity is free.",
                (Query('sum(plimsoll_pending_jobs{status="active"})', ""),),
                kind="stat",
            ),
            Panel(
                "Faulty GPUs",
                "GPUs with a hardware error within the last 15 minutes.",
                (Query("max(plimsoll_faulty_gpus)", ""),),
                kind="stat",
                alarm=1,
            ),
        ),
    ),
    Row(
        "Use and waste",
        (
            Panel(
                "GPUs by state",
                "Draining: of nodes about to go; Unmanaged: held by pods that Plimsoll did not"
                " place.",
                (Query("sum by (state) (plimsoll_gpus)", "{{state}}"),),
            ),
            Panel(
                "Idle GPUs by type and pool",
                "Where there is room.",
                (
                    Query(
                        'sum by (gpu_type, pool) (plimsoll_gpus{state="Idle"})',
                        "{{gpu_type}} {{pool}}",
                    ),
                ),
            ),
            Panel(
                "GPUs that cannot be used",
                "Broken or about to go, by pool.",
                (
                    Query(
                        'sum by (pool, state) (plimsoll_gpus{state=~"Unusable|Draining"})',
                        "{{pool}} {{state}}",
                    ),
                ),
            ),
            Panel(
                "Cost of all GPUs",
                "An hour, in the currency of the pools' prices, used or not.",
                (Query(_dollars(""), "{{pool}}"),),
                unit="currencyUSD",
            ),
            Panel(
                "Cost of GPUs that nobody uses",
                "An hour: idle, broken and about to go.",
                (Query(_dollars('state=~"Idle|Unusable|Draining"'), "{{pool}}"),),
                unit="currencyUSD",
            ),
            Panel(
                "Lost work",
                "GPUs' worth of training thrown away by stops, by reason.",
                (
                    Query(
                        f"sum by (reason) ({rate('plimsoll_lost_gpu_seconds_total')})", "{{reason}}"
                    ),
                ),
            ),
        ),
    ),
    Row(
        "Queues",
        (
            Panel(
                "GPUs by queue",
                "A queue includes its children.",
                (Query("sum by (queue) (plimsoll_queue_gpus_used)", "{{queue}}"),),
            ),
            Panel(
                "Owed to queues",
                "GPUs of guarantees that jobs could use and do not have.",
                (
                    Query(
                        "max by (queue, gpu_type) (plimsoll_queue_gpus_owed)",
                        "{{queue}} {{gpu_type}}",
                    ),
                ),
            ),
            Panel(
                "Waiting jobs by reason",
                "Why jobs of all queues wait.",
                (
                    Query(
                        'sum by (reason) (plimsoll_jobs{state="Waiting"})',
                        "{{reason}}",
                    ),
                ),
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
                "Power by queue",
                "Of the GPUs that queues use, in pools whose power is known.",
                (
                    Query(
                        f"sum by (queue) ({rate('plimsoll_queue_energy_joules_total')})",
                        "{{queue}}",
                    ),
                ),
                unit="watt",
            ),
        ),
    ),
    Row(
        "Problems",
        (
            Panel(
                "Alerts",
                "Plimsoll's alerts that fire, where this Prometheus evaluates them.",
                (
                    Query(
                        "count by (alertname, severity)"
                        ' (ALERTS{alertname=~"Plimsoll.+",alertstate="firing"})',
                        "{{alertname}} ({{severity}})",
                    ),
                ),
            ),
            Panel(
                "Optimality gap of plans",
                "How much better the best plan could be, at most.",
                (Query("max(plimsoll_plan_gap_percent and plimsoll_leader == 1)", "gap"),),
                unit="percent",
            ),
            Panel(
                "Inadmissible jobs by queue",
                "Waiting will not help these: the job, the queue or the cluster must change.",
                (
                    Query(
                        'max by (queue) (plimsoll_pending_jobs{status="inadmissible"})', "{{queue}}"
                    ),
                ),
            ),
        ),
    ),
)
