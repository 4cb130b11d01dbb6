"""What objects have in common whose own controllers make pods: metadata, pod templates, conditions.

All are reduced to the fields by which a workload is planned, held and placed.
"""

from collections.abc import Iterable
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


class WorkloadMeta(ObjectMeta, frozen=True):
    """Metadata with annotations, which say more about the job."""

    annotations: Labels = _NO_LABELS


class WorkloadObject(KubeObject, frozen=True):
    """An object of any kind that may ask to be planned."""

    metadata: WorkloadMeta = WorkloadMeta()


class WorkerSpec(PodSpec, frozen=True):
    """The spec of a workload's pods, with how long one may take to end."""

    termination_grace_period_seconds: int | None = None


class WorkerTemplate(Wire, frozen=True):
    """The template of a workload's pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkerSpec = WorkerSpec()


class WorkloadCondition(Wire, frozen=True):
    """One aspect of a workload's state: `status` is "True", "False" or "Unknown"."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


def condition_of(conditions: Iterable[WorkloadCondition], kind: str) -> WorkloadCondition | None:
    """The condition of a type if it holds; None if it does not."""
    found = (each for each in conditions if each.type == kind)
    return next((each for each in found if each.status == "True"), None)
