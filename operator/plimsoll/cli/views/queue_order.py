"""One queue: its share, and its waiting jobs in the order in which plans try them."""

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec
from pydantic import ValidationError

from plimsoll.api.training_job import TrainingJob as TrainingJobModel
from plimsoll.cli.cluster.objects import (
    InferenceJob,
    JobObject,
    JobQueue,
    JobSpec,
    JobStatus,
    TrainingJob,
)
from plimsoll.cli.cluster.reading import Known
from plimsoll.cli.invocation import did_you_mean
from plimsoll.cli.output.ages import age
from plimsoll.cli.output.document import Document
from plimsoll.cli.output.report import Line
from plimsoll.cli.output.table import Column, Table
from plimsoll.cli.views.jobs import Priorities, WaitingJob, waiting
from plimsoll.cli.views.queues import Queue, queue_line, queues_table
from plimsoll.errors import NothingFound
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.planning.training.order import head_start_milli, head_start_of
from plimsoll.planning.training.urgency import PLAIN_MILLI, urgency_milli
from plimsoll_placement.model import WHOLE_GPU_MILLI

_MOST_NAMED: Final = 12


class QueuedTrainingJob(KubeObject, frozen=True):
    """A training job of which everything is kept, since its urgency depends on most of it."""

    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


class QueueOrder(Line, frozen=True):
    """A queue, None if only jobs name it, and its waiting jobs in the order of their turns."""

    queue: Queue | None
    waiting: tuple[WaitingJob, ...]


_COLUMNS: Final = (
    Column("#", is_number=True),
    Column("JOB"),
    Column("PRIORITY", is_number=True),
    Column("SINCE", is_number=True),
    Column("REASON"),
)


def queue_order(name: str, known: Known, now: datetime) -> QueueOrder:
    """The queue of that name. Raises NothingFound, which names others."""
    found, priorities = known.of(JobQueue), Priorities(known)
    trainings = [*map(_light, known.of(QueuedTrainingJob).items)]
    jobs = (*trainings, *known.of(InferenceJob).items)
    urgency = {
        light.full_name: _urgency(whole, now)
        for whole, light in zip(known.of(QueuedTrainingJob).items, trainings, strict=True)
        if light.waits
    }
    lines, created = waiting(jobs, priorities), _created(jobs)

    def turn(each: WaitingJob) -> tuple[int, int, float, str]:
        """As in `plimsoll_placement.entitlements.admission_order`."""
        urgent = urgency.get(each.job, PLAIN_MILLI)
        return -(each.priority or 0), -urgent, created[each.job], each.job

    queue = next((each for each in found.items if each.metadata.name == name), None)
    if queue is None and not found.missing and not jobs:
        raise NothingFound([_none(name, [each.metadata.name for each in found.items])])
    since = lines[0].since if lines else None
    return QueueOrder(
        None if queue is None else queue_line(queue, since), tuple(sorted(lines, key=turn))
    )


def _none(name: str, there: list[str]) -> str:
    near = did_you_mean(name, there)
    if near or not there:
        return f"{name}: no such queue{near}"
    more = ", …" if len(there) > _MOST_NAMED else ""
    return f"{name}: no such queue: use one of {', '.join(sorted(there)[:_MOST_NAMED])}{more}"


def _light(job: QueuedTrainingJob) -> TrainingJob:
    return TrainingJob(
        job.metadata,
        msgspec.json.decode(job.spec, type=JobSpec),
        msgspec.json.decode(job.status, type=JobStatus),
    )


def _created(jobs: Iterable[JobObject]) -> dict[str, float]:
    """When jobs were created; one that does not say comes last."""
    return {
        job.full_name: job.metadata.creation_timestamp.timestamp()
        if job.metadata.creation_timestamp
        else math.inf
        for job in jobs
    }


def _urgency(job: QueuedTrainingJob, now: datetime) -> int:
    """As plans see it of the job alone; one that they cannot read counts as one GPU's."""
    raw: dict[str, Any] = {
        "metadata": {
            "name": job.metadata.name,
            "namespace": job.metadata.namespace,
            "creationTimestamp": job.metadata.creation_timestamp,
        },
        "spec": msgspec.json.decode(job.spec),
        "status": msgspec.json.decode(job.status),
    }
    try:
        read = TrainingJobModel.model_validate(raw)
    except ValidationError:
        return PLAIN_MILLI + head_start_of(WHOLE_GPU_MILLI, None)
    return urgency_milli(read, now) + head_start_milli(read)


def order_document(found: QueueOrder, now: datetime) -> Document:
    """The queue for people."""
    parts: list[Table | str] = []
    if found.queue is not None:
        parts.append(queues_table([found.queue], now, repeat=False))
    return [*parts, order_table(found, now) if found.waiting else "No job waits in this queue."]


def order_table(found: QueueOrder, now: datetime) -> Table:
    """The waiting jobs in order."""
    rows = (
        (
            str(index),
            each.job,
            "?" if each.priority is None else str(each.priority),
            age(each.since, now),
            each.reason,
        )
        for index, each in enumerate(found.waiting, start=1)
    )
    return Table(_COLUMNS, tuple(rows), "WHY", tuple(each.message for each in found.waiting))
