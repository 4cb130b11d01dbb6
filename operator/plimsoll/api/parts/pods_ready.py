"""How long pods that have a place may take to be ready, and what follows where they are not.

The words are those of Kueue's `waitForPodsReady`; durations are written as everywhere here.
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
    """When a job whose pods never became ready is tried again."""

    model_config = cel_rules(_PAUSE_GROWS)

    backoff_base: PositiveDuration = timedelta(minutes=1)
    """The pause after the first time; it doubles each time that follows."""
    backoff_max: PositiveDuration = timedelta(hours=1)
    """The longest pause. Each trial may take the places of others for nothing."""
    backoff_limit_count: Annotated[int, Field(ge=1, le=1000)] | None = None
    """After so many times in a row the job is not tried again before its spec changes. Without it
    there is no such limit."""

    @model_validator(mode="after")
    def _grows(self) -> Self:
        _PAUSE_GROWS.require(holds=self.backoff_base <= self.backoff_max)
        return self


class WaitForPodsReady(ApiModel):
    """How long pods may take to start before their place is given back.

    A pod that was ready once is none of these.
    """

    timeout: Duration = timedelta(minutes=30)
    """How long after they were made all pods of a gang, or of a replica, may take to be ready, with
    the images that are pulled and the models that are loaded. `0s`: they are waited for without
    end."""
    error_timeout: Duration = timedelta(minutes=5)
    """How long they may take where the kubelet says that a container cannot start, such as for an
    image that cannot be pulled; or where no scheduler says anything of the pod. `0s`: as long as
    others."""
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()
    """When the job is tried again. It begins anew whenever its spec changes."""
