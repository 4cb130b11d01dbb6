"""What a training job says of workers that are much slower than their gang."""

from plimsoll.api.model import ApiModel
from plimsoll.api.values.amounts import Quantity
from plimsoll.api.values.scalars import Count, Percent, Timestamp, Word

MOST_SLOW = 16
MOST_REPLACED = 32


class SlowWorker(ApiModel):
    """A worker of the present gang that computes for much longer than the others."""

    replica: Count
    """Which worker."""
    node: Word
    """Where it runs."""
    since: Timestamp
    """Since when it has been so without a break."""
    compute_seconds: Quantity
    """How long it computes in a step."""
    gang_seconds: Quantity
    """The median of that over the gang."""
    lost_percent: Percent
    """The share of its time that the whole gang loses by it."""
    found_time: Timestamp | None = None
    """When it had been so for long enough to be told."""


class ReplacedWorker(ApiModel):
    """A straggler for which the gang was moved."""

    replica: Count
    """Which worker."""
    workers: Count
    """How many workers the gang had."""
    node: Word
    """Where it ran."""
    time: Timestamp
    """When the gang was moved."""
    until: Timestamp
    """Until when no plan moves the job back there."""
