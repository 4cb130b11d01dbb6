"""Services: their load, their replicas and their service level.

`$namespace` and `$service` are chosen on the dashboard.
"""

from plimsoll_monitoring.expressions import rate
from plimsoll_monitoring.panel import Panel, Query, Row

_SERVICE = 'namespace=~"$namespace",name=~"$service"'
_LEGEND = "{{namespace}}/{{name}}"


_CAPACITY = (
    "max by (namespace, name, role, gpu_type, bucket)"
    f" (plimsoll_service_replica_capacity{{{_SERVICE}}})"
)


def _of_role(figure: str, legend: str) -> Query:
    series = f"max by (namespace, name, role) (plimsoll_service_{figure}{{{_SERVICE}}})"
    return Query(series, f"{_LEGEND} {{{{role}}}}{legend}")


def _of_size(figure: str, legend: str) -> Query:
    series = f"max by (namespace, name, role, bucket) (plimsoll_service_{figure}{{{_SERVICE}}})"
    return Query(series, f"{_LEGEND} {{{{role}}}} {{{{bucket}}}}{legend}")


def _level(figure: str) -> str:
    return f"plimsoll_service_slo_{figure}_percent{{{_SERVICE}}}"


def _starts(suffix: str) -> str:
    grown = rate(f"plimsoll_service_start_seconds_{suffix}", _SERVICE)
    return f"sum by (namespace, name, role) ({grown})"


SERVICE_ROWS = (
    Row(
        "Now",
        (
            Panel(
                "Replicas ready",
                "Of all chosen services.",
                (Query(f"sum(plimsoll_service_ready_replicas{{{_SERVICE}}})", ""),),
                kind="stat",
            ),
            Panel(
                "Replicas missing",
                "Wanted for the load and not ready.",
                (
                    Query(
                        f"sum(clamp_min(plimsoll_service_wanted_replicas{{{_SERVICE}}}"
                        f" - plimsoll_service_ready_replicas{{{_SERVICE}}}, 0))",
                        "",
                    ),
                ),
                kind="stat",
                alarm=1,
            ),
            Panel(
                "Lowest attainment",
                "Of the service that meets its service level least often.",
                (Query(f"min({_level('attainment')})", ""),),
                unit="percent",
                kind="stat",
            ),
            Panel(
                "Services below their level",
                "Services that meet their service level less often than they must.",
                (Query(f"count({_level('attainment')} < {_level('objective')}) or vector(0)", ""),),
                kind="stat",
                alarm=1,
            ),
        ),
    ),
    Row(
        "Load",
        (
            Panel(
                "Current load",
                "In the unit of the profiles.",
                (_of_size("observed_load", ""),),
            ),
            Panel(
                "Forecast and wanted load",
                "Forecast within the horizon at its quantile; load that replicas are sized for.",
                (_of_size("foreseen_load", " forecast"), _of_size("wanted_load", " wanted")),
            ),
            Panel(
                "Forecast quantile",
                "The quantile that capacity is for: higher where more was unserved of late.",
                (_of_size("forecast_quantile", ""),),
            ),
            Panel(
                "Unserved load",
                "Share above the ready capacity over the last days, and what may be from here on.",
                (
                    _of_size("unserved_percent", ""),
                    _of_size("allowed_unserved_percent", " allowed"),
                ),
                unit="percent",
            ),
            Panel(
                "Service level",
                "Share of the requests that met it, and that must.",
                (
                    Query(f"max by (namespace, name) ({_level('attainment')})", _LEGEND),
                    Query(f"max by (namespace, name) ({_level('objective')})", f"{_LEGEND} due"),
                ),
                unit="percent",
            ),
        ),
    ),
    Row(
        "Replicas",
        (
            Panel(
                "Wanted replicas",
                "Replicas that the load requires, after windows and limits.",
                (_of_role("wanted_replicas", ""),),
            ),
            Panel(
                "Placed and ready replicas",
                "Those that have GPUs, and those that take requests.",
                (_of_role("placed_replicas", " placed"), _of_role("ready_replicas", " ready")),
            ),
            Panel(
                "Cold starts",
                "Mean time from a pod's creation until it is ready.",
                (Query(f"{_starts('sum')} / {_starts('count')}", f"{_LEGEND} {{{{role}}}}"),),
                unit="s",
            ),
        ),
    ),
    Row(
        "Within replicas",
        (
            Panel(
                "KV cache",
                "Used share, on average over the replicas; near 1 requests wait or start over.",
                (_of_role("kv_cache_used_ratio", ""),),
                unit="percentunit",
            ),
            Panel(
                "What a replica carries",
                "By GPU type, measured or as the profile says, in the unit of the profiles.",
                (Query(_CAPACITY, f"{_LEGEND} {{{{role}}}} {{{{gpu_type}}}} {{{{bucket}}}}"),),
            ),
        ),
    ),
)
