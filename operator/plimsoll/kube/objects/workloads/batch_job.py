"""A batch/v1 Job, reduced to the fields by which it is planned, held and placed."""

from datetime import datetime

from plimsoll.kube.objects.objects import Wire
from plimsoll.kube.objects.workload_parts import (
    Number,
    WorkerTemplate,
    WorkloadCondition,
    WorkloadObject,
)


class BatchJobSpec(Wire, frozen=True):
    """How many pods run at once, how many must succeed, and whether none may run now."""

    suspend: bool = False
    parallelism: Number = 1
    completions: Number | None = None
    completion_mode: str = "NonIndexed"
    managed_by: str = ""
    template: WorkerTemplate = WorkerTemplate()


class BatchJobStatus(Wire, frozen=True):
    """How many pods run, have succeeded and have failed, and since when pods may run.

    `failed_indexes` are the numbers given up by an indexed Job, such as `1,3-5`.
    """

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    failed_indexes: str = ""
    start_time: datetime | None = None
    conditions: tuple[WorkloadCondition, ...] = ()


class BatchJob(WorkloadObject, frozen=True):
    """A batch/v1 Job."""

    spec: BatchJobSpec = BatchJobSpec()
    status: BatchJobStatus = BatchJobStatus()
