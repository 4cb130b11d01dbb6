"""How long placed pods may take to become ready, and what happens if they do not.

The terms are those of Kueue's `waitForPodsReady`; durations are written as elsewhere in this API.
"""

from datetime import timedelta
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import Rule, cel_rules
from plimsoll.api.values.amounts import Duration, PositiveDuration

_PAUSE_GROWS: Final = Rule(
    "duration(self.backoffBase) <= duration(self.backoffMax)",
    "must be at least backoffBase: raise backoffMax or lower backoffBase",
    ".backoffMax",
)


class RequeuingStrategy(ApiModel):
    """When a job whose pods never became ready is retried."""

    model_config = cel_rules(_PAUSE_GROWS)

    backoff_base: PositiveDuration = timedelta(minutes=1)
    """Pause after the first timeout; it doubles each time."""
    backoff_max: PositiveDuration = timedelta(hours=1)
    """Longest pause. Each retry may displace other jobs for nothing."""
    backoff_limit_count: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Consecutive timeouts after which the job is not retried until its spec changes. Default: no
    limit."""

    @model_validator(mode="after")
    def _grows(self) -> Self:
        _PAUSE_GROWS.require(holds=self.backoff_base <= self.backoff_max)
        return self


class WaitForPodsReady(ApiModel):
    """How long pods may take to start before they lose their place.

    Does not apply to pods that have been ready once.
    """

    timeout: Duration = timedelta(minutes=30)
    """Time from creation until all pods of a gang or replica are ready, including image pulls and
    model loading. `0s`: no limit."""
    error_timeout: Duration = timedelta(minutes=5)
    """The same if the kubelet reports that a container cannot start, such as when its image cannot
    be pulled, or if no scheduler reports on the pod. `0s`: as `timeout`."""
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()
    """When the job is retried. Any change to its spec resets it."""
