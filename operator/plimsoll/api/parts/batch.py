"""How many samples a step of training takes, and how the workers divide them among themselves."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.parts.placement import UNLESS_SUSPENDED
from plimsoll.api.schema_marks import Rule, cel_rules

MOST_SAMPLES: Final = 2**30
MOST_PASSES: Final = 256

Samples = Annotated[int, Field(ge=1, le=MOST_SAMPLES)]

_GROWS: Final = Rule(
    "!has(self.maxSize) || self.size <= self.maxSize",
    "must be at least size: raise maxSize, or leave it out for a batch that stays the same",
    ".maxSize",
)

BATCH_STAYS: Final = Rule(
    UNLESS_SUSPENDED + "(has(self.batch) == has(oldSelf.batch)"
    " && (!has(self.batch) || self.batch == oldSelf.batch))",
    "may change only while the job is suspended: set suspend to true first",
    ".batch",
)
SAMPLES_ARE_COUNTED: Final = Rule(
    "!has(self.batch) || !has(self.batch.maxSize) || !has(self.work) || self.work.unit != 'steps'",
    "must be proportional to samples where batch.maxSize is set, for steps are then unlike each"
    " other: count samples or tokens, or leave maxSize out",
    ".work.unit",
)


class Batch(ApiModel):
    """The batch of a step, all workers together: `local batch x passes x ranks`."""

    model_config = cel_rules(_GROWS)

    size: Samples
    """The samples of a step on all workers together, however many these are. The stated throughput
    is that with this batch."""
    max_size: Samples | None = None
    """Up to so many samples where a step brings more progress by it, as the gradient noise that
    workers report says. Without it every step takes exactly `size`."""
    max_accumulation: Annotated[int, Field(ge=1, le=MOST_PASSES)] = 1
    """In how many passes at the most a rank computes its part of a step; with 1 the program does
    not accumulate gradients."""
    ranks_per_worker: Annotated[int, Field(ge=1, le=1024)] | None = None
    """How many processes of a worker have a part of the batch each. Without it one for each GPU; 1
    where the GPUs of a worker hold one model together."""

    @model_validator(mode="after")
    def _can_grow(self) -> Self:
        _GROWS.require(holds=self.max_size is None or self.size <= self.max_size)
        return self


class PlacedBatch(ApiModel):
    """The batch that the plan has chosen for a placement; workers find it in their environment."""

    size: Samples
    """The samples of a step on all workers together."""
    local: Samples
    """The samples that a rank computes at once."""
    accumulation: Samples
    """In how many such passes a rank computes its part of a step."""
