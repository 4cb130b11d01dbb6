"""Power domains: planned and measured draw, and what power caps save."""

from plimsoll_monitoring.panel import Panel, Query, Row


def _watts(what: str, legend: str) -> Query:
    return Query(f"max by (domain) (plimsoll_power_{what}_watts)", f"{{{{domain}}}} {legend}")


POWER_ROWS = (
    Row(
        "Power domains",
        (
            Panel(
                "Power draw and budget",
                "Measured power draw and the domain's budget.",
                (_watts("measured", "measured"), _watts("budget", "budget")),
                unit="watt",
            ),
            Panel(
                "Planned power",
                "Power expected under the current plan, and power that plans may assign.",
                (_watts("expected", "expected"), _watts("planned_budget", "assignable")),
                unit="watt",
            ),
            Panel(
                "Saved by caps",
                "Power saved by GPU power caps.",
                (_watts("capped", "saved"),),
                unit="watt",
            ),
            Panel(
                "Measured and capped nodes",
                "A cap that no agent has applied yet saves nothing.",
                (
                    Query("max(plimsoll_power_measured_nodes)", "measured"),
                    Query("max(plimsoll_capped_nodes)", "to be capped"),
                    Query("max(plimsoll_caps_not_applied)", "not capped yet"),
                ),
            ),
            Panel(
                "Unmeasured domains",
                "1 while a domain's power draw is unknown.",
                (Query("max by (domain) (plimsoll_power_unknown)", "{{domain}}"),),
            ),
        ),
    ),
)
