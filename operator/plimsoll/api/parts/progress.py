"""What a training job says of its work: how far, how fast, and what its workers are told."""

from decimal import Decimal
from typing import Annotated, Final

from pydantic import Field

from plimsoll.api.model import ApiModel
from plimsoll.api.parts.batch import Samples
from plimsoll.api.parts.gang import MAX_WORKERS, WorkerCount
from plimsoll.api.schema_marks import ATOMIC
from plimsoll.api.values.amounts import Quantity
from plimsoll.api.values.scalars import Count, LabelValue, Message, Percent, Timestamp, Word

MOST_MEASURED: Final = 64


class Progress(ApiModel):
    """How far the job is."""

    done: Quantity = Decimal(0)
    """Units of work done."""
    unit: Word = "steps"
    """What is counted."""
    percent: Percent | None = None
    """The share of the whole amount that is done."""
    rate: Quantity | None = None
    """Units of work a second, as measured of late."""
    gradient_noise: Quantity | None = None
    """The gradient noise scale in samples, as the workers reported it last."""
    saved_done: Quantity | None = None
    """Units of work in the last checkpoint; what a restart goes on from."""
    last_checkpoint: Timestamp | None = None
    """When the job last saved."""
    lost: Quantity = Decimal(0)
    """Units of work that were done and had to be done again, by all restarts together."""
    reported_time: Timestamp | None = None
    """When the workers said so; it is written once a minute, and when they have saved."""


class MeasuredRate(ApiModel):
    """How fast the job was on so many workers of a GPU type."""

    type: LabelValue
    """The GPU type."""
    workers: WorkerCount
    """How many workers the gang had."""
    batch: Samples | None = None
    """The samples of a step then, where the spec has a batch."""
    rate: Quantity
    """Units of work a second, on the average of the time below; times the statistical efficiency
    where the workers report that."""
    seconds: Count
    """For how long that was measured. The longer, the less a new measurement changes it."""


class Notice(ApiModel):
    """What workers are told before they are disturbed: save, and stop."""

    id: Annotated[str, Field(min_length=1, max_length=63)]
    """By which workers say that they have saved for it."""
    reason: Word
    """Why, in one word, as in events."""
    message: Message = ""
    """Why, in a sentence."""
    sent_time: Timestamp
    """Since when the workers can know of it."""
    deadline: Timestamp
    """When they are stopped, whether they have saved or not."""
    revision: Count
    """The revision of the gang that it is for."""
    workers: Annotated[tuple[Count, ...], Field(max_length=MAX_WORKERS), ATOMIC] = ()
    """The workers that listened when it was sent; it is waited for these to save."""
