"""A batch/v1 Job, reduced to the fields by which it is planned, held and placed."""

from datetime import datetime
from typing import Annotated, Final

import msgspec

from plimsoll.kube.objects.objects import (
    KubeObject,
    Labels,
    ObjectMeta,
    PodSpec,
    Wire,
)

_NO_LABELS: Final[Labels] = {}

Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class BatchJobMeta(ObjectMeta, frozen=True):
    """Metadata with annotations, which say more about the job."""

    annotations: Labels = _NO_LABELS


class WorkerSpec(PodSpec, frozen=True):
    """The spec of a Job's pods, with how long one may take to end."""

    termination_grace_period_seconds: int | None = None


class WorkerTemplate(Wire, frozen=True):
    """The template of a Job's pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkerSpec = WorkerSpec()


class BatchJobSpec(Wire, frozen=True):
    """How many pods run at once, how many must succeed, and whether none may run now."""

    suspend: bool = False
    parallelism: Number = 1
    completions: Number | None = None
    completion_mode: str = "NonIndexed"
    managed_by: str = ""
    template: WorkerTemplate = WorkerTemplate()


class BatchJobCondition(Wire, frozen=True):
    """One aspect of a Job's state: `status` is "True", "False" or "Unknown"."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class BatchJobStatus(Wire, frozen=True):
    """How many pods run, have succeeded and have failed, and since when pods may run.

    `failed_indexes` are the numbers given up by an indexed Job, such as `1,3-5`.
    """

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    failed_indexes: str = ""
    start_time: datetime | None = None
    conditions: tuple[BatchJobCondition, ...] = ()


class BatchJob(KubeObject, frozen=True):
    """A batch/v1 Job."""

    metadata: BatchJobMeta = BatchJobMeta()
    spec: BatchJobSpec = BatchJobSpec()
    status: BatchJobStatus = BatchJobStatus()

    def has_condition(self, kind: str) -> bool:
        """Whether a condition holds."""
        return self.condition(kind) is not None

    def condition(self, kind: str) -> BatchJobCondition | None:
        """A condition that holds; None if it does not."""
        found = (each for each in self.status.conditions if each.type == kind)
        return next((each for each in found if each.status == "True"), None)
