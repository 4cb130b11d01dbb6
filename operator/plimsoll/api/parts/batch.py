"""The batch of a training step, and how the workers divide it."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.parts.placement import OR_SUSPENDED
from plimsoll.api.schema_marks import Rule, cel_rules

MOST_SAMPLES: Final = 2**30
MOST_PASSES: Final = 256

Samples = Annotated[int, Field(ge=1, le=MOST_SAMPLES)]

_GROWS: Final = Rule(
    "!has(self.maxSize) || self.size <= self.maxSize",
    "must be at least size: raise maxSize, or omit it for a fixed batch",
    ".maxSize",
)

BATCH_STAYS: Final = Rule(
    "(has(self.batch) ? has(oldSelf.batch) && self.batch == oldSelf.batch"
    " : !has(oldSelf.batch))" + OR_SUSPENDED,
    "can change only while the job is suspended: set suspend to true first",
    ".batch",
)
SAMPLES_ARE_COUNTED: Final = Rule(
    "!has(self.batch) || !has(self.batch.maxSize) || !has(self.work) || self.work.unit != 'steps'",
    "must not be steps if batch.maxSize is set, since steps then differ in size: count samples or"
    " tokens, or omit maxSize",
    ".work.unit",
)


class Batch(ApiModel):
    """The batch of a step over all workers: `local batch x passes x ranks`."""

    model_config = cel_rules(_GROWS)

    size: Samples
    """Samples of a step over all workers, for any worker count. The stated throughput is for this
    batch."""
    max_size: Samples | None = None
    """Largest batch to grow to where it speeds up progress, judged by the gradient noise that
    workers report. Default: `size`."""
    max_accumulation: Annotated[int, Field(ge=1, le=MOST_PASSES)] = 1
    """Most passes per rank and step; 1 if the program does not accumulate gradients."""
    ranks_per_worker: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Processes per worker that each take a part of the batch. Default: one per GPU; use 1 if a
    worker's GPUs hold one model together."""

    @model_validator(mode="after")
    def _can_grow(self) -> Self:
        _GROWS.require(holds=self.max_size is None or self.size <= self.max_size)
        return self


class PlacedBatch(ApiModel):
    """The batch chosen for a placement; workers find it in their environment."""

    size: Samples
    """Samples of a step over all workers."""
    local: Samples
    """Samples a rank computes at once."""
    accumulation: Samples
    """Passes per rank and step."""
