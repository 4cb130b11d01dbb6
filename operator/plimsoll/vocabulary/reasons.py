"""Reasons: one word each, shared by conditions, events, metrics and logs.

A `Reason` appears unchanged in all of them, so that a user who has seen it once can search for it
elsewhere. Where Kueue has a word for the same thing, that word is used.
"""

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """Why something is as it is; in CamelCase, as conditions require."""

    # A job waits: none of it runs.
    PENDING = "Pending"
    CANNOT_FIT = "CannotFit"
    INSUFFICIENT_GPUS = "InsufficientGPUs"
    INSUFFICIENT_RESOURCES = "InsufficientResources"
    NO_ELIGIBLE_NODE = "NoEligibleNode"
    QUEUE_LIMIT = "QueueLimit"
    TOO_MANY_JOBS = "TooManyJobs"
    QUEUE_NOT_FOUND = "QueueNotFound"
    QUEUE_NOT_ALLOWED = "QueueNotAllowed"
    PRIORITY_NOT_ALLOWED = "PriorityNotAllowed"
    POWER_BUDGET = "PowerBudget"
    SPOT_SHARE = "SpotShare"
    TOPOLOGY_UNSATISFIED = "TopologyUnsatisfied"
    LOWER_PRIORITY = "LowerPriority"
    RESERVED = "Reserved"
    WAITING_FOR_CAPACITY = "WaitingForCapacity"
    WAITING_FOR_SPOT = "WaitingForSpot"
    PROVISIONING = "Provisioning"
    INVALID_SPEC = "InvalidSpec"
    MANAGED_ELSEWHERE = "ManagedElsewhere"
    PRIORITY_CLASS_NOT_FOUND = "PriorityClassNotFound"

    # A job receives capacity, and what follows.
    ADMITTED = "Admitted"
    STARTING = "Starting"
    CANNOT_START = "CannotStart"
    RUNNING = "Running"
    RESIZED = "Resized"
    MIGRATED = "Migrated"
    STRAGGLER_REPLACED = "StragglerReplaced"
    BATCH_CHANGED = "BatchChanged"
    SCALED_TO_ZERO = "ScaledToZero"
    DEADLINE_AT_RISK = "DeadlineAtRisk"
    LOAD_MEASURED = "LoadMeasured"
    LOAD_UNKNOWN = "LoadUnknown"
    METRICS_AWAITED = "MetricsAwaited"
    PROMETHEUS_NOT_SET = "PrometheusNotSet"
    DEADLINE_KEPT = "DeadlineKept"
    DEADLINE_MISSED = "DeadlineMissed"

    # Capacity is taken from a job.
    EVICTED = "Evicted"
    PREEMPTED = "Preempted"
    RECLAIMED = "InCohortReclamation"
    SUSPENDED = "Suspended"
    NODE_LEFT = "NodeLeft"
    NODE_UNREACHABLE = "NodeUnreachable"
    SAVING = "Saving"

    # A workload that a job targets; all but one are the HorizontalPodAutoscaler's words.
    SUCCEEDED_GET_SCALE = "SucceededGetScale"
    FAILED_GET_SCALE = "FailedGetScale"
    FAILED_UPDATE_SCALE = "FailedUpdateScale"
    AMBIGUOUS_SELECTOR = "AmbiguousSelector"
    TARGET_CONTESTED = "TargetContested"

    # A workload of another kind that asks to be planned.
    ADOPTED = "Adopted"
    ALREADY_RUNS = "AlreadyRuns"
    SHAPE_CHANGED = "ShapeChanged"

    # Something went wrong with a pod or a job.
    POD_REFUSED = "PodRefused"
    PODS_READY_TIMEOUT = "PodsReadyTimeout"
    NODE_REFUSED = "NodeRefused"
    RESTARTING = "Restarting"
    REPLICAS_MISSING = "ReplicasMissing"
    BACKOFF_LIMIT_EXCEEDED = "BackoffLimitExceeded"
    FAILED = "Failed"
    COMPLETED = "Completed"
    STRAGGLER_FOUND = "StragglerFound"

    # A node is closed, or must be vacated.
    CORDONED = "Cordoned"
    DELETING = "Deleting"
    DRAINING = "Draining"
    INTERRUPTION_NOTICE = "InterruptionNotice"
    REBALANCE_RECOMMENDED = "RebalanceRecommended"
    NOT_READY = "NotReady"
    UNHEALTHY = "Unhealthy"
    QUARANTINED = "Quarantined"
    RELEASED = "Released"

    # Nodes that are bought.
    NODE_ORDERED = "NodeOrdered"
    NODE_ARRIVED = "NodeArrived"
    NODE_NOT_TO_BE_HAD = "NodeNotToBeHad"
    NODE_EMPTIED = "NodeEmptied"
    NODE_GIVEN_BACK = "NodeGivenBack"
    ORDER_REFUSED = "OrderRefused"

    # GPU power and its limits.
    WITHIN_BUDGET = "WithinBudget"
    POWER_OVERSHOOT = "PowerOvershoot"
    POWER_MEASURED = "PowerMeasured"
    POWER_UNKNOWN = "PowerUnknown"
    POWER_CAPPED = "PowerCapped"
    POWER_RELEASED = "PowerReleased"
    CAPS_APPLIED = "CapsApplied"
    CAPS_PENDING = "CapsPending"
    CAP_REFUSED = "CapRefused"
    BUDGET_REDUCED = "BudgetReduced"
    BUDGET_RESTORED = "BudgetRestored"

    # The energy signal.
    SIGNAL_MEASURED = "SignalMeasured"
    SIGNAL_UNKNOWN = "SignalUnknown"

    # Routes to services.
    ROUTE_NOT_WEIGHTED = "RouteNotWeighted"

    # The console's ledger.
    LEDGER_WRITTEN = "LedgerWritten"
    LEDGER_BEHIND = "LedgerBehind"
    LEDGER_UNKNOWN = "LedgerUnknown"

    # A plan, or a view of the cluster.
    PLANNED = "Planned"
    PLAN_DROPPED = "PlanDropped"
    STALE = "Stale"
    NOT_LEADER = "NotLeader"
    LEADING = "Leading"


TAKEN: Final = frozenset(
    {
        Reason.PREEMPTED,
        Reason.RECLAIMED,
        Reason.NODE_LEFT,
        Reason.NODE_UNREACHABLE,
        Reason.EVICTED,
    }
)
"""Why a job has lost its place to others, or with its nodes."""

INADMISSIBLE: Final = frozenset(
    {
        Reason.CANNOT_FIT,
        Reason.NO_ELIGIBLE_NODE,
        Reason.QUEUE_NOT_FOUND,
        Reason.QUEUE_NOT_ALLOWED,
        Reason.PRIORITY_NOT_ALLOWED,
        Reason.PRIORITY_CLASS_NOT_FOUND,
        Reason.INVALID_SPEC,
        Reason.MANAGED_ELSEWHERE,
        Reason.POD_REFUSED,
        Reason.PODS_READY_TIMEOUT,
        Reason.NODE_UNREACHABLE,
    }
)
"""Why a job would wait even if all GPUs were free."""
