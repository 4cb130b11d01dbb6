"""What the agents on GPU nodes do: the row of power limits."""

from plimsoll_monitoring.expressions import rate
from plimsoll_monitoring.panel import Panel, Query, Row

AGENT_ROWS = (
    Row(
        "Power limits of GPUs",
        (
            Panel(
                "Power limits",
                "The limits that the GPUs with an agent keep to, added up.",
                (Query("sum(plimsoll_agent_power_limit_watts)", "all GPUs"),),
                unit="watt",
            ),
            Panel(
                "GPUs without the limit that they should have",
                "A cap is refused or cannot be set; the Node's annotation says why.",
                (Query("sum(plimsoll_agent_unsettled_gpus)", "GPUs"),),
                alarm=1,
            ),
            Panel(
                "Agents by what they see of the operator",
                "An agent that sees no sign of life of the operator restores the default limits.",
                (
                    Query("count(plimsoll_agent_operator_alive == 1)", "it lives"),
                    Query("count(plimsoll_agent_operator_alive == 0)", "it is silent"),
                ),
            ),
            Panel(
                "What did not work on nodes",
                "Per second: requests to the API server, and what GPUs were asked.",
                (Query(f"sum by (about) ({rate('plimsoll_agent_errors_total')})", "{{about}}"),),
                unit="ops",
            ),
        ),
    ),
)
