"""The agent's metrics, in a registry of their own: docs/guides/power.md describes them."""

from prometheus_client import CollectorRegistry, Counter, Gauge

REGISTRY = CollectorRegistry()

POWER_LIMIT = Gauge(
    "plimsoll_agent_power_limit_watts",
    "The limit that a GPU keeps to",
    ["gpu"],
    registry=REGISTRY,
)
UNSETTLED_GPUS = Gauge(
    "plimsoll_agent_unsettled_gpus",
    "GPUs that do not have the limit that they should have",
    registry=REGISTRY,
)
OPERATOR_ALIVE = Gauge(
    "plimsoll_agent_operator_alive",
    "1 while the operator's Lease is seen to change",
    registry=REGISTRY,
)
ERRORS = Counter(
    "plimsoll_agent_errors",
    "What did not work, by what it was about: api or nvml",
    ["about"],
    registry=REGISTRY,
)
