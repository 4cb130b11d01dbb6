"""Stragglers in a training job's status: workers much slower than their gang."""

from plimsoll.api.model import ApiModel
from plimsoll.api.values.amounts import Quantity
from plimsoll.api.values.scalars import Count, Percent, Timestamp, Word

MOST_SLOW = 16
MOST_REPLACED = 32


class SlowWorker(ApiModel):
    """A worker of the current gang that computes for much longer than the others."""

    replica: Count
    """Worker rank."""
    node: Word
    """Its node."""
    since: Timestamp
    """Since when it has been slow without a break."""
    compute_seconds: Quantity
    """Its compute time per step."""
    gang_seconds: Quantity
    """The gang's median."""
    lost_percent: Percent
    """Share of time that the gang loses to it."""
    found_time: Timestamp | None = None
    """When it had been slow long enough to report."""


class ReplacedWorker(ApiModel):
    """A straggler for which the gang was moved."""

    replica: Count
    """Worker rank."""
    workers: Count
    """The gang's worker count."""
    node: Word
    """Where it ran."""
    time: Timestamp
    """When the gang moved."""
    until: Timestamp
    """Until when plans keep the job off that node."""
