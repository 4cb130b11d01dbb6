"""What a training job runs on: a gang of workers, and how fast it is on which GPU type."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.parts.batch import Samples
from plimsoll.api.schema_marks import SET, Rule, cel_rules, whole_by
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.api.values.amounts import GpuCount, PositiveQuantity
from plimsoll.api.values.quantities import thousandths
from plimsoll.api.values.scalars import LabelValue

MAX_WORKERS = 4096
WorkerCount = Annotated[int, Field(ge=1, le=MAX_WORKERS)]
ALL_UP_TO: Final = 128
"""As long as a range has no more counts, each is considered."""
TO_A_DOUBLING: Final = 16
"""Of a wider one so many are, between a count and twice as many: what they yield differs little,
and all that is derived of a job takes as long as it has counts."""

_MAX_FROM_MIN: Final = Rule(
    "!has(self.max) || self.min <= self.max",
    "must be at least min: raise max or lower min",
    ".max",
)
_ALLOWED_UP_TO_MAX: Final = Rule(
    "!has(self.allowed) || self.allowed.all(n, n <= (has(self.max) ? self.max : self.min))",
    "must not go beyond max: take the larger counts out, or raise max",
    ".allowed",
)
_ALLOWED_FROM_MIN: Final = Rule(
    "!has(self.allowed) || self.allowed.size() == 0 || self.allowed.exists(n, n >= self.min)",
    "must hold a count of min or above: add one, or lower min",
    ".allowed",
)
_WORKERS_END: Final = Rule(
    "!has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy != 'Always'",
    "must be Never or OnFailure, or be left out: a worker that has ended must stay ended",
    ".template.spec.restartPolicy",
)


def counts_between(least: int, most: int) -> tuple[int, ...]:
    """The counts of a range that are considered, both ends among them; of a wide one round ones."""
    if most - least < ALL_UP_TO:
        return tuple(range(least, most + 1))
    found = [least]
    while found[-1] < most:
        step = 1 << max(0, (found[-1] // TO_A_DOUBLING).bit_length() - 1)
        found.append(min(most, (found[-1] // step + 1) * step))
    return tuple(found)


class Workers(ApiModel):
    """The gang: how many workers, with how many GPUs each, and what they run."""

    model_config = cel_rules(_MAX_FROM_MIN, _ALLOWED_UP_TO_MAX, _ALLOWED_FROM_MIN, _WORKERS_END)

    min: WorkerCount
    """The fewest workers that are of use; the job waits until so many fit."""
    max: WorkerCount | None = None
    """The most workers that the job can use. Without it the job runs with exactly `min`."""
    allowed: Annotated[tuple[WorkerCount, ...], Field(max_length=64), SET] = ()
    """The worker counts that the job's parallelism admits; those from `min` on are used. Without it
    every count; where `max` is more than 127 above `min`, all up to 31 and then sixteen round ones
    to each doubling."""
    gpus_per_worker: GpuCount
    """GPUs of each worker: a whole number, or a fraction of one device such as `"0.25"`."""
    template: PodTemplate
    """The pod of each worker. GPUs, names and the rendezvous environment are added to it."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The worker counts that the job may run with, rising."""
        if self.allowed:
            return tuple(sorted(count for count in self.allowed if count >= self.min))
        return counts_between(self.min, self.most)

    @property
    def most(self) -> int:
        """The most workers that the job can use."""
        return self.max or self.min

    @property
    def milli_gpus_per_worker(self) -> int:
        """The GPUs of each worker, in thousandths of a device."""
        return thousandths(self.gpus_per_worker)

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        _MAX_FROM_MIN.require(holds=self.min <= self.most)
        largest = max(self.allowed, default=self.most)
        _ALLOWED_UP_TO_MAX.require(holds=largest <= self.most)
        _ALLOWED_FROM_MIN.require(holds=largest >= self.min)
        _WORKERS_END.require(holds=self.template.spec.restart_policy != "Always")
        return self


class ThroughputPoint(ApiModel):
    """How fast the job is at one worker count."""

    workers: WorkerCount
    """The worker count."""
    rate: PositiveQuantity
    """Units of work a second that all workers do together."""


class Accelerator(ApiModel):
    """A GPU type that the job can run on, and how fast it is there."""

    type: LabelValue
    """The GPU type by its product label, such as `NVIDIA-H100-80GB-HBM3`."""
    throughput: Annotated[
        tuple[ThroughputPoint, ...], Field(min_length=1, max_length=32), whole_by("workers")
    ]
    """The job's rate at some worker counts; what lies between is interpolated."""
    max_local_batch: Samples | None = None
    """How many samples one rank can compute at once, by its memory. Without it any number."""
