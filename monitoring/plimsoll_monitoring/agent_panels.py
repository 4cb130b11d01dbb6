"""The agents on GPU nodes: the row of power limits."""

from plimsoll_monitoring.expressions import rate
from plimsoll_monitoring.panel import Panel, Query, Row

AGENT_ROWS = (
    Row(
        "GPU power limits",
        (
            Panel(
                "Power limits",
                "Sum of the power limits in force on GPUs with an agent.",
                (Query("sum(plimsoll_agent_power_limit_watts)", "all GPUs"),),
                unit="watt",
            ),
            Panel(
                "GPUs without the intended limit",
                "A cap was refused or could not be set; the Node's annotation says why.",
                (Query("sum(plimsoll_agent_unsettled_gpus)", "GPUs"),),
                alarm=1,
            ),
            Panel(
                "Agents by sight of the operator",
                "An agent that sees no sign of life from the operator restores the default limits.",
                (
                    Query("count(plimsoll_agent_operator_alive == 1)", "operator alive"),
                    Query("count(plimsoll_agent_operator_alive == 0)", "operator silent"),
                ),
            ),
            Panel(
                "Agent errors",
                "Failed requests to the API server (api) and to the GPU driver (nvml), per second.",
                (Query(f"sum by (about) ({rate('plimsoll_agent_errors_total')})", "{{about}}"),),
                unit="ops",
            ),
        ),
    ),
)
