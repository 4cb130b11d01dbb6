"""Custom resources as the API server stores them, to be read whole where a command shows all."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final, TypeVar, cast

import msgspec
from pydantic import ValidationError

from plimsoll.api import gpu_pool, inference_job, job_queue, training_job
from plimsoll.api.definition import GROUP, VERSION
from plimsoll.api.kinds import Job
from plimsoll.api.refusal_text import why_refused
from plimsoll.api.resource import Resource
from plimsoll.errors import BadInput
from plimsoll.kube.http import resources
from plimsoll.kube.objects.objects import KubeObject

T = TypeVar("T", bound=Resource)


class Stored(KubeObject, frozen=True):
    """A custom resource; `model` is what its fields are checked by."""

    model: ClassVar[type[Resource]]

    spec: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    status: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])

    @classmethod
    def resource(cls) -> resources.Resource:
        """Where such objects are."""
        definition = cls.model.definition
        return resources.Resource(GROUP, VERSION, definition.plural, definition.namespaced)


class StoredJob(Stored, frozen=True):
    """A job of either kind."""


class StoredTrainingJob(StoredJob, frozen=True):
    """A TrainingJob."""

    model = training_job.TrainingJob


class StoredInferenceJob(StoredJob, frozen=True):
    """An InferenceJob."""

    model = inference_job.InferenceJob


class StoredPool(Stored, frozen=True):
    """A GPUPool."""

    model = gpu_pool.GPUPool


class StoredQueue(Stored, frozen=True):
    """A JobQueue."""

    model = job_queue.JobQueue


JOB_TYPES: Final[tuple[type[StoredJob], ...]] = (StoredTrainingJob, StoredInferenceJob)


def job_of(stored: StoredJob) -> Job:
    """The job. Raises BadInput if its fields make no sense, which an API server refuses."""
    try:
        return cast("Job", _model(stored))
    except ValidationError as error:
        meta = stored.metadata
        name = f"{stored.model.definition.kind}/{meta.namespace}/{meta.name}"
        raise BadInput([f"{name}: cannot be read: {why_refused(error)}"]) from error


def models(stored: Iterable[Stored], kind: type[T]) -> Iterator[T]:
    """Those of a kind whose fields make sense; the operator tells of the others."""
    for each in stored:
        try:
            found = _model(each)
        except ValidationError:
            continue
        if isinstance(found, kind):
            yield found


def _model(stored: Stored) -> Resource:
    model = stored.model
    return model.model_validate(
        {
            "kind": model.definition.kind,
            "metadata": msgspec.to_builtins(stored.metadata),
            "spec": stored.spec,
            "status": stored.status,
        }
    )
