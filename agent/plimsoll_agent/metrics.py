"""The agent's metrics, in their own registry: docs/guides/power.md describes them."""

from prometheus_client import CollectorRegistry, Counter, Gauge

REGISTRY = CollectorRegistry()

POWER_LIMIT = Gauge(
    "plimsoll_agent_power_limit_watts",
    "Power limit in force on a GPU",
    ["gpu"],
    registry=REGISTRY,
)
UNSETTLED_GPUS = Gauge(
    "plimsoll_agent_unsettled_gpus",
    "GPUs without the intended power limit",
    registry=REGISTRY,
)
OPERATOR_ALIVE = Gauge(
    "plimsoll_agent_operator_alive",
    "1 while the operator's Lease keeps changing, else 0",
    registry=REGISTRY,
)
ERRORS = Counter(
    "plimsoll_agent_errors",
    "Failed requests to the API server (api) or the GPU driver (nvml)",
    ["about"],
    registry=REGISTRY,
)
