"""How much nodes may cost that are bought."""

from plimsoll.api.model import ApiModel
from plimsoll.api.values.amounts import Quantity


class Purchasing(ApiModel):
    """How much nodes may cost that are bought for jobs that wait."""

    most_per_hour: Quantity | None = None
    """Most that they may cost an hour, in the currency of the pools' prices. Of the policy: all
    bought nodes, those on their way too. Of a queue: what its jobs and its children's hold of them,
    and the nodes that come for them. Default: no limit but the pools' `max`."""
