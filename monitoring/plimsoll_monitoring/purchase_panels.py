"""Bought nodes: what is ordered and comes, what it costs, and what of it is idle."""

from plimsoll_monitoring.expressions import rate
from plimsoll_monitoring.panel import Panel, Query, Row
from plimsoll_monitoring.thresholds import NODE_FAILURES


def _hourly(counter: str, legend: str) -> Query:
    series = rate(f"plimsoll_{counter}_total")
    return Query(f"3600 * sum by (pool) ({series})", f"{legend}: {{{{pool}}}}")


PURCHASE_ROWS = (
    Row(
        "Bought nodes",
        (
            Panel(
                "Orders",
                "Per hour: ordered, arrived, given back, and those that could not be had.",
                (
                    _hourly("nodes_ordered", "ordered"),
                    _hourly("nodes_arrived", "arrived"),
                    _hourly("nodes_given_back", "given back"),
                    _hourly("node_shortages", "not to be had"),
                ),
            ),
            Panel(
                "Bought nodes",
                "Those on their way, those that are there, and how many of these have no job.",
                (
                    Query("sum by (pool, state) (plimsoll_nodes_bought)", "{{state}}: {{pool}}"),
                    Query(
                        f"sum by (pool) ({rate('plimsoll_idle_node_seconds_total')})",
                        "idle: {{pool}}",
                    ),
                    Query("max by (pool) (plimsoll_nodes_advised)", "would be bought: {{pool}}"),
                ),
            ),
            Panel(
                "Cost of bought nodes",
                "An hour, in the currency of the pools' prices, and what they all may cost.",
                (
                    Query(
                        "max by (pool, capacity_type) (plimsoll_bought_dollars_per_hour)",
                        "{{pool}} ({{capacity_type}})",
                    ),
                    Query("sum(plimsoll_bought_dollars_per_hour)", "all"),
                    Query("max(plimsoll_purchase_budget_dollars_per_hour) < Inf", "budget"),
                ),
            ),
            Panel(
                "Pools that cannot be had",
                "Orders in a row that could not be met; others are tried meanwhile.",
                (Query("max by (pool) (plimsoll_node_failures)", "{{pool}}"),),
                alarm=NODE_FAILURES,
            ),
        ),
    ),
)
