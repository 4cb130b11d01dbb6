"""Progress of a training job: how far, how fast, and the notice its workers get."""

from decimal import Decimal
from typing import Annotated, Final, Literal

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
    """Share of the total done."""
    rate: Quantity | None = None
    """Recent units of work per second."""
    gradient_noise: Quantity | None = None
    """Gradient noise scale in samples, as last reported."""
    batch: Samples | None = None
    """Samples per step, as reported by workers that can change it without a restart."""
    saved_done: Quantity | None = None
    """Units of work in the last checkpoint, from which restarts resume."""
    last_checkpoint: Timestamp | None = None
    """When the job last saved."""
    saves_on_notice: bool | None = None
    """Whether all workers saved in time when they last had a notice."""
    lost: Quantity = Decimal(0)
    """Units of work redone after restarts, in total."""
    reported_time: Timestamp | None = None
    """When workers reported this; written once a minute and after each save."""


class MeasuredRate(ApiModel):
    """The job's rate at one worker count of a GPU type."""

    type: LabelValue
    """GPU type."""
    workers: WorkerCount
    """Worker count."""
    batch: Samples | None = None
    """Samples per step, if the spec has a batch."""
    accumulation: Samples | None = None
    """Passes per rank and step, if the spec has a batch."""
    nodes: Count | None = None
    """Nodes of the workers."""
    step_seconds: Quantity | None = None
    """Mean seconds per step, if the spec has a batch and work counts samples or it is reported."""
    rate: Quantity
    """Mean units of work per second, times the statistical efficiency if reported."""
    seconds: Count
    """Seconds measured; the longer, the steadier."""


SpeedBasis = Literal["Assumed", "Learned", "Stated", "Measured"]


class GpuSpeed(ApiModel):
    """How fast the job is taken to be on a GPU type."""

    type: LabelValue
    """GPU type."""
    percent: Percent
    """Its rate with the fewest workers, in percent of that on the fastest type."""
    basis: SpeedBasis
    """What that rests on: published figures of the GPU, what jobs of the same program reported, the
    spec, or what its own workers did."""


class Notice(ApiModel):
    """What workers are told before a disruption: save, and stop."""

    id: Annotated[str, Field(min_length=1, max_length=63)]
    """Workers quote it to say they have saved."""
    reason: Word
    """Why, in one word, as in events."""
    message: Message = ""
    """Why, in a sentence."""
    sent_time: Timestamp
    """Since when workers can see it."""
    deadline: Timestamp
    """When they are stopped, saved or not."""
    revision: Count
    """Placement revision of the gang it is for."""
    workers: Annotated[tuple[Count, ...], Field(max_length=MAX_WORKERS), ATOMIC] = ()
    """Workers listening when it was sent, whose saves are awaited."""
