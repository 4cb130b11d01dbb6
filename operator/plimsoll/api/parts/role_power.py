"""What a job says of the power that its GPUs draw."""

from typing import Final

from plimsoll.api.model import ApiModel
from plimsoll.api.values.amounts import Quantity
from plimsoll.api.values.scalars import Count, Timestamp, Watts, Word

MOST_ROLES: Final = 8


class RolePower(ApiModel):
    """What one GPU of a role draws, by what was measured of its own pods on GPUs without limits."""

    role: Word
    """The role; `worker` for training."""
    expected_watts: Watts
    """What a GPU draws by the role's use and by its pools, on the average."""
    measured_watts: Watts
    """What a GPU draws as measured so far."""
    percent: Quantity
    """What it draws above idle as measured so far, in percent of what is expected."""
    planned_percent: Count
    """What plans count with: the same in steps, and 100 at first."""
    seconds: Count
    """For how long that was measured. The longer, the less a new measurement changes it."""
    observed_time: Timestamp
    """Until when it was measured."""
