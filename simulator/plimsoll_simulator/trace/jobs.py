"""Training jobs from a file: each as a TrainingJob that knows its rates, and as fast as it knows.

Jobs differ in what the file says of them; what it leaves open is as for any TrainingJob.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from plimsoll.api.definition import API_VERSION
from plimsoll.api.model import ApiModel
from plimsoll.api.values.amounts import PositiveQuantity
from plimsoll.api.values.scalars import Percent, ResourceName
from plimsoll.errors import BadInput
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.trace.rows import Moment, Row, rows

_SECONDS_PER_HOUR = 3600


def _types(value: object) -> object:
    """`A=1 B=2.5`: the speed of each GPU type, 1 where none is given."""
    if not isinstance(value, str):
        return value
    pairs = (each.partition("=") for each in value.split())
    return {name: speed or "1" for name, _, speed in pairs}


_Hours = Annotated[PositiveQuantity, Field(le=100 * 8766)]
"""Up to a hundred years."""


class TracedJob(ApiModel):
    """A line of a file of jobs."""

    submitted: Moment
    """When it comes."""
    gpus: Annotated[int, Field(ge=1, le=100_000)]
    """The GPUs that it runs on."""
    hours: _Hours
    """How long it runs on these, on the first of its GPU types, if nothing disturbs it."""
    name: ResourceName | None = None
    """Its name; `job-` and the number of its line unless given."""
    namespace: ResourceName = "default"
    """Its namespace."""
    queue: ResourceName = "default"
    """Its JobQueue; one without limits unless the cluster has it."""
    priority: Annotated[int, Field(ge=-2_000_000_000, le=1_000_000_000)] | None = None
    """Its priority; more goes first."""
    priority_class_name: ResourceName | None = None
    """Instead of a priority: a PriorityClass of the cluster."""
    gpu_types: Annotated[dict[str, PositiveQuantity], BeforeValidator(_types)] = Field(
        default_factory=dict[str, Decimal]
    )
    """The GPU types that it can run on, with their speeds: `A100=1 H100=2.2`. Default: all."""
    gpus_per_worker: Annotated[int, Field(ge=1, le=64)] | None = None
    """GPUs of each worker. Default: all on one node if they fit, else as many as divide."""
    min_gpus: Annotated[int, Field(ge=1)] | None = None
    """The fewest GPUs on which it would run. Default: `gpus`."""
    max_gpus: Annotated[int, Field(ge=1)] | None = None
    """The most that it can use. Default: `gpus`."""
    scaling: Annotated[Percent, Field(ge=1)] = 90
    """What twice the GPUs are worth, in percent of twice the speed."""
    deadline_hours: _Hours | None = None
    """How many hours after its submission it should be done."""
    spot: bool = False
    """Whether it may run on spot capacity."""
    checkpoint_minutes: PositiveQuantity = Decimal(10)
    """How often it saves."""
    restore_seconds: Annotated[int, Field(ge=0, le=86_400)] = 60
    """How long it takes to go on from a checkpoint."""

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        if self.priority is not None and self.priority_class_name is not None:
            raise ValueError("priority and priorityClassName exclude each other: omit one")
        if self.min_gpus is not None and self.min_gpus > self.gpus:
            raise ValueError("minGPUs must be at most gpus")
        if self.max_gpus is not None and self.max_gpus < self.gpus:
            raise ValueError("maxGPUs must be at least gpus")
        return self

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of GPUs that it may have: halved and doubled, and the limits themselves."""
        least, most = self.min_gpus or self.gpus, self.max_gpus or self.gpus
        found, size = {least, self.gpus, most}, self.gpus
        while 2 * size < most:
            size *= 2
            found.add(size)
        size = self.gpus
        while size % 2 == 0 and size // 2 > least:
            size //= 2
            found.add(size)
        return tuple(sorted(found))


def traced_jobs(file: Path) -> Sequence[Row[TracedJob]]:
    """The jobs of a file. Raises BadInput."""
    return rows(file, TracedJob)


def priority_class(priority: int) -> str:
    """The name of the PriorityClass of a priority."""
    return f"priority-{priority}".replace("--", "-minus-")


def manifest(row: Row[TracedJob], gpus_per_node: Mapping[str, int], submitted: datetime) -> Raw:
    """A job as its user submits it, where nodes have so many GPUs of each type.

    Raises BadInput where it asks for a type that no node has.
    """
    job = row.content
    types = job.gpu_types or dict.fromkeys(gpus_per_node, Decimal(1))
    unknown = sorted(types.keys() - gpus_per_node.keys())
    if unknown:
        known = ", ".join(sorted(gpus_per_node))
        raise BadInput([f"{row.where}: gpuTypes: no node has {unknown[0]}: use of {known}"])
    per_worker = job.gpus_per_worker or _most_per_worker(job, min(gpus_per_node[t] for t in types))
    if any(size % per_worker for size in job.sizes):
        sizes = ", ".join(map(str, job.sizes))
        text = f"{row.where}: gpusPerWorker: must divide its numbers of GPUs, {sizes}"
        raise BadInput([text])
    counts = [size // per_worker for size in job.sizes]
    work: Raw = {"amount": str(job.hours * _SECONDS_PER_HOUR * next(iter(types.values())))}
    if job.deadline_hours is not None:
        deadline = submitted + timedelta(hours=float(job.deadline_hours))
        work = {**work, "deadline": deadline.isoformat()}
    named = job.priority_class_name or (
        None if job.priority is None else priority_class(job.priority)
    )
    return {
        "apiVersion": API_VERSION,
        "kind": "TrainingJob",
        "metadata": {"name": job.name or f"job-{row.line}", "namespace": job.namespace},
        "spec": {
            "queue": job.queue,
            **({} if named is None else {"priorityClassName": named}),
            "workers": {
                "min": counts[0],
                "max": counts[-1],
                "allowed": counts,
                "gpusPerWorker": per_worker,
                "template": {"spec": {"containers": [{"name": "main", "image": "traced:1"}]}},
            },
            "accelerators": [
                {"type": name, "throughput": [*_rates(job, float(speed), per_worker)]}
                for name, speed in types.items()
            ],
            "work": work,
            "spot": {"allowed": job.spot},
            "checkpoint": {
                "interval": f"{round(job.checkpoint_minutes * 60)}s",
                "saveSeconds": 0,
                "restoreSeconds": job.restore_seconds,
            },
        },
    }


def _most_per_worker(job: TracedJob, gpus_per_node: int) -> int:
    """The most GPUs of a node that divide all the numbers that a job may have."""
    common = math.gcd(*job.sizes)
    return max(n for n in range(1, min(common, gpus_per_node) + 1) if common % n == 0)


def _rates(job: TracedJob, speed: float, per_worker: int) -> Iterator[Raw]:
    exponent = math.log2(2 * job.scaling / 100)
    for size in job.sizes:
        rate = speed * (size / job.gpus) ** exponent
        yield {"workers": size // per_worker, "rate": f"{rate:.6f}"}
