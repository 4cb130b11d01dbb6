"""Measured and expected GPU power in a job's status."""

from typing import Final

from plimsoll.api.model import ApiModel
from plimsoll.api.values.amounts import Quantity
from plimsoll.api.values.scalars import Count, Timestamp, Watts, Word

MOST_ROLES: Final = 8


class RolePower(ApiModel):
    """Power of one GPU of a role, measured on its own pods on uncapped GPUs."""

    role: Word
    """Role; `worker` for training."""
    expected_watts: Watts
    """Expected mean draw per GPU, by the role's use and pools."""
    measured_watts: Watts
    """Measured draw per GPU."""
    percent: Quantity
    """Measured draw above idle, in percent of the expected."""
    planned_percent: Count
    """The same in steps, as plans use it; 100 at first."""
    seconds: Count
    """Seconds measured; the longer, the steadier."""
    observed_time: Timestamp
    """Until when it was measured."""
