"""The TrainingJob that stands for an adopted workload: planned, explained and counted like any.

It belongs to the workload, and goes with it. Its spec follows from the workload and from the
workload's annotations.
"""

from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from plimsoll.api.definition import API_VERSION
from plimsoll.api.refusal_text import why_refused
from plimsoll.api.training_job import TrainingJob
from plimsoll.api.unknown_fields import unknown_fields
from plimsoll.errors import UnusableWorkload
from plimsoll.kube.objects.batch_job import BatchJob
from plimsoll.observe.adoption import batch_jobs
from plimsoll.observe.adoption.annotations import Fields, fields_said
from plimsoll.observe.adoption.batch_jobs import Gang, gang_of, stand_in_name
from plimsoll.observe.labels import QUEUE, SETTINGS

Manifest = dict[str, Any]

_IN_SPEC: Final = "spec."


@dataclass(frozen=True, slots=True)
class StandIn:
    """The TrainingJob that is to stand for a Job: as it is created, and as it is read."""

    manifest: Manifest
    job: TrainingJob


def stand_in_of(job: BatchJob) -> StandIn:
    """The TrainingJob that is to stand for a Job.

    Raises UnusableWorkload, which names the field or annotation and the remedy.
    """
    said, gang = fields_said(job.metadata.annotations), gang_of(job)
    manifest = _manifest(job, _spec(job, gang, said))
    problem = next(unknown_fields(TrainingJob, manifest), None)
    if problem is None:
        try:
            return StandIn(manifest, TrainingJob.model_validate(manifest))
        except ValidationError as error:
            problem = why_refused(error)
    raise UnusableWorkload(_in_terms_of_annotations(problem, said))


def is_stand_in(training: TrainingJob, job: BatchJob) -> bool:
    """Whether a TrainingJob stands for a Job: any other that claims to is somebody's own."""
    ref, meta = training.spec.workload_ref, training.metadata
    return (
        ref is not None
        and ref.uid == job.metadata.uid
        and meta.namespace == job.metadata.namespace
        and meta.name == stand_in_name(job)
    )


def _manifest(job: BatchJob, spec: Fields) -> Manifest:
    meta = job.metadata
    owner = {
        "apiVersion": batch_jobs.API_VERSION,
        "kind": batch_jobs.KIND,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": TrainingJob.definition.kind,
        "metadata": {
            "name": stand_in_name(job),
            "namespace": meta.namespace,
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def _spec(job: BatchJob, gang: Gang, said: Fields) -> Fields:
    spec: Fields = {
        **said,
        "queue": job.metadata.labels[QUEUE],
        "workers": {
            **_size(job, gang, said),
            "gpusPerWorker": gang.gpus,
            "template": gang.template,
        },
        "workloadRef": {
            "apiVersion": batch_jobs.API_VERSION,
            "kind": batch_jobs.KIND,
            "name": job.metadata.name,
            "uid": job.metadata.uid,
            "gpuResource": gang.gpu_resource,
        },
    }
    if gang.priority_class_name:
        spec["priorityClassName"] = gang.priority_class_name
    checkpoint = spec.get("checkpoint", {})
    if isinstance(checkpoint, dict):
        spec["checkpoint"] = {"saveSeconds": gang.save_seconds, **checkpoint}
    return spec


def _size(job: BatchJob, gang: Gang, said: Fields) -> Fields:
    """How many workers there may be; as many as the Job has, unless annotations give a range."""
    given: Any = said.get("workers", {})
    if not isinstance(given, dict):
        raise UnusableWorkload(f"annotation {SETTINGS}workers: must be an object, such as {{}}")
    size: Fields = {**given}
    if not {"min", "max", "allowed"} & size.keys():
        return {**size, "min": gang.count, "max": gang.count}
    if not gang.is_elastic:
        raise UnusableWorkload(
            f"annotations {SETTINGS}workers.min and .max: Job {job.metadata.name} cannot change its"
            " size: set completionMode to Indexed and completions to parallelism, or remove them"
        )
    missing = next((name for name in ("min", "max") if name not in size), None)
    if missing is not None:
        # parallelism changes with each resize, so it cannot bound the next.
        raise UnusableWorkload(
            f"annotation {SETTINGS}workers.{missing}: is required for a Job that may be resized"
        )
    return size


def _in_terms_of_annotations(problem: str, said: Fields) -> str:
    """A problem of a field that an annotation gives, by the annotation."""
    given = problem.removeprefix(_IN_SPEC)
    first = given.partition(":")[0].partition(".")[0].partition("[")[0]
    return f"annotation {SETTINGS}{given}" if first in said and given != problem else problem
