"""What power domains draw, by plan and as measured, and what limits on GPUs do about it."""

from plimsoll_monitoring.panel import Panel, Query, Row


def _watts(what: str, legend: str) -> Query:
    return Query(f"max by (domain) (plimsoll_power_{what}_watts)", f"{{{{domain}}}} {legend}")


POWER_ROWS = (
    Row(
        "Power domains",
        (
            Panel(
                "Drawn, and what may be",
                "As measured, beside the budget of the domain.",
                (_watts("measured", "measured"), _watts("budget", "budget")),
                unit="watt",
            ),
            Panel(
                "Planned watts",
                "What is expected by the plan in force, and what plans give out now.",
                (_watts("expected", "expected"), _watts("planned_budget", "given out")),
                unit="watt",
            ),
            Panel(
                "Saved by limits",
                "What limits on GPUs save.",
                (_watts("capped", "saved"),),
                unit="watt",
            ),
            Panel(
                "Nodes with measured GPUs, and limited ones",
                "A limit that no agent has set yet saves nothing.",
                (
                    Query("max(plimsoll_power_measured_nodes)", "measured"),
                    Query("max(plimsoll_capped_nodes)", "to be limited"),
                    Query("max(plimsoll_caps_not_applied)", "not limited yet"),
                ),
            ),
            Panel(
                "Domains that nobody measures",
                "1 while what a domain draws is not known.",
                (Query("max by (domain) (plimsoll_power_unknown)", "{{domain}}"),),
            ),
        ),
    ),
)
