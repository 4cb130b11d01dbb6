"""The dashboards, each for one kind of reader."""

from plimsoll_monitoring.agent_panels import AGENT_ROWS
from plimsoll_monitoring.fleet_panels import FLEET_ROWS
from plimsoll_monitoring.operator_panels import OPERATOR_ROWS
from plimsoll_monitoring.panel import Board, Choice
from plimsoll_monitoring.power_panels import POWER_ROWS
from plimsoll_monitoring.purchase_panels import PURCHASE_ROWS
from plimsoll_monitoring.queue_panels import QUEUE_ROWS
from plimsoll_monitoring.service_panels import SERVICE_ROWS

BOARDS = (
    Board(
        "operator",
        "plimsoll",
        "Plimsoll / Operator",
        "Plans, and the health of the operator",
        OPERATOR_ROWS,
    ),
    Board(
        "administrator",
        "plimsoll-administrator",
        "Plimsoll / Administrator",
        "The fleet: its use and waste, who uses it, nodes bought, power",
        (*FLEET_ROWS, *PURCHASE_ROWS, *POWER_ROWS, *AGENT_ROWS),
    ),
    Board(
        "queue",
        "plimsoll-queue",
        "Plimsoll / Queue",
        "What a queue uses and is due, which jobs wait and why, and what it costs",
        QUEUE_ROWS,
        (Choice("queue", "Queue", "plimsoll_running_jobs", "queue"),),
    ),
    Board(
        "service",
        "plimsoll-service",
        "Plimsoll / Service",
        "The load of services, their replicas and whether they keep their service level",
        SERVICE_ROWS,
        (
            Choice("namespace", "Namespace", "plimsoll_service_wanted_replicas", "namespace"),
            Choice(
                "service",
                "Service",
                'plimsoll_service_wanted_replicas{namespace=~"$namespace"}',
                "name",
            ),
        ),
    ),
)
