"""The gang of workers of a training job, and its speed on each GPU type."""

from typing import Annotated, ClassVar, Final, Self

from pydantic import Field, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.parts.batch import Samples
from plimsoll.api.schema_marks import SET, Rule, cel_rules, whole_by
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.api.values.amounts import GpuCount, PositiveQuantity
from plimsoll.api.values.quantities import thousandths
from plimsoll.api.values.scalars import LabelValue

MAX_WORKERS = 4096
MOST_TYPES: Final = 16
WorkerCount = Annotated[int, Field(ge=1, le=MAX_WORKERS)]
ALL_UP_TO: Final = 128
"""Ranges of at most this many counts are considered in full."""
TO_A_DOUBLING: Final = 16
"""Of a wider range, this many counts per doubling: their yields differ little, and the time to
derive anything of a job grows with its counts."""

_MAX_FROM_MIN: Final = Rule(
    "!has(self.max) || self.min <= self.max",
    "must be at least min: raise max or lower min",
    ".max",
)
_ALLOWED_UP_TO_MAX: Final = Rule(
    "!has(self.allowed) || self.allowed.all(n, n <= (has(self.max) ? self.max : self.min))",
    "must not exceed max: remove the larger counts, or raise max",
    ".allowed",
)
_ALLOWED_FROM_MIN: Final = Rule(
    "!has(self.allowed) || self.allowed.size() == 0 || self.allowed.exists(n, n >= self.min)",
    "must include a count of at least min: add one, or lower min",
    ".allowed",
)
_WORKERS_END: Final = Rule(
    "!has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy != 'Always'",
    "must be Never or OnFailure, or omitted: a finished worker must not restart",
    ".template.spec.restartPolicy",
)


def counts_between(least: int, most: int) -> tuple[int, ...]:
    """The counts of a range to consider, including both ends; for a wide range, round ones."""
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
    """Fewest useful workers; the job waits until they fit."""
    max: WorkerCount | None = None
    """Most workers the job can use. Default: `min`."""
    allowed: Annotated[tuple[WorkerCount, ...], Field(max_length=64), SET] = ()
    """Worker counts that the parallelism permits; those below `min` are ignored. Default: every
    count; if `max` exceeds `min` by more than 127, all up to 31, then sixteen round ones per
    doubling."""
    gpus_per_worker: GpuCount
    """GPUs per worker: a whole number, or a fraction of one device such as `"0.25"`."""
    min_memory_per_gpu: PositiveQuantity | None = None
    """Least memory of each GPU as sold, such as `80Gi`, for jobs that name no `accelerators`."""
    template: PodTemplate
    """Pod of each worker. Plimsoll adds GPUs, names and the rendezvous environment."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The worker counts that the job may run with, ascending."""
        if self.allowed:
            return tuple(sorted(count for count in self.allowed if count >= self.min))
        return counts_between(self.min, self.most)

    @property
    def most(self) -> int:
        """The most workers the job can use."""
        return self.max or self.min

    @property
    def milli_gpus_per_worker(self) -> int:
        """GPUs per worker, in thousandths of a device."""
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
    """The job's speed at one worker count."""

    workers: WorkerCount
    """Worker count."""
    rate: PositiveQuantity
    """Units of work per second over all workers."""


class Accelerator(ApiModel):
    """A GPU type that the job can run on, and its speed there."""

    type: LabelValue
    """GPU type by its product label, such as `NVIDIA-H100-80GB-HBM3`."""
    throughput: Annotated[
        tuple[ThroughputPoint, ...], Field(max_length=32), whole_by("workers")
    ] = ()
    """Rates at some worker counts; counts in between are interpolated. Default: assumed from the
    published figures of the GPU until workers report."""
    max_local_batch: Samples | None = None
    """Samples that fit in one rank's memory at once. Default: no limit."""
    is_assumed: ClassVar[bool] = False
    """Whether the rates are not stated."""
    is_learned: ClassVar[bool] = False
    """Whether they are those of jobs that run the same program."""
