"""What a disruption of a training job threw away."""

from plimsoll.api.model import ApiModel
from plimsoll.api.values.scalars import Count, Timestamp


class LostWork(ApiModel):
    """Work thrown away by a disruption."""

    time: Timestamp
    """When."""
    gpu_seconds: Count
    """GPU-seconds of work since the last checkpoint, and of stopping and starting."""
