"""The TrainingJob that stands for an adopted workload: planned, explained and counted like any.

It belongs to the workload, and goes with it. Its spec follows from the workload and from the
workload's annotations.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pydantic import ValidationError

from plimsoll.api.definition import API_VERSION
from plimsoll.api.refusal_text import why_refused
from plimsoll.api.training_job import TrainingJob
from plimsoll.api.unknown_fields import unknown_fields
from plimsoll.errors import UnusableWorkload
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.naming import shortened
from plimsoll.observe.adoption.annotations import Fields, fields_said
from plimsoll.observe.adoption.gangs import Gang, gang_of
from plimsoll.observe.adoption.kinds.adapter import Candidate
from plimsoll.observe.adoption.kinds.table import adapter_of
from plimsoll.observe.labels import QUEUE, SETTINGS

Manifest = dict[str, Any]

_IN_SPEC: Final = "spec."
_NAME: Final = re.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_NAME: Final = 48


@dataclass(frozen=True, slots=True)
class StandIn:
    """The TrainingJob that is to stand for a workload: as it is created, and as it is read."""

    manifest: Manifest
    job: TrainingJob


def stand_in_of(candidate: Candidate) -> StandIn:
    """The TrainingJob that is to stand for a workload.

    Raises UnusableWorkload, which names the field or annotation and the remedy.
    """
    said, gang = fields_said(candidate.item.metadata.annotations), gang_of(candidate)
    manifest = _manifest(candidate, _spec(candidate, gang, said))
    problem = next(unknown_fields(TrainingJob, manifest), None)
    if problem is None:
        try:
            return StandIn(manifest, TrainingJob.model_validate(manifest))
        except ValidationError as error:
            problem = why_refused(error)
    raise UnusableWorkload(_in_terms_of_annotations(problem, said))


def stand_in_name(item: WorkloadObject) -> str:
    """The name of the TrainingJob that stands for a workload: its kind and its own, if that fits.

    `job-train` stands for the Job `train`.
    """
    return _named(adapter_of(item).kind, item.metadata.name)


@lru_cache(maxsize=16_384)
def _named(kind: str, name: str) -> str:
    prefix = f"{kind.lower()}-"
    longest = _LONGEST_NAME - len(prefix)
    if len(name) <= longest and _NAME.fullmatch(name):
        return f"{prefix}{name}"
    return f"{prefix}{shortened(name, longest)}"


def is_stand_in(training: TrainingJob, item: WorkloadObject) -> bool:
    """Whether a TrainingJob stands for a workload: any other that claims to is somebody's own."""
    ref, meta = training.spec.workload_ref, training.metadata
    return (
        ref is not None
        and ref.uid == item.metadata.uid
        and meta.namespace == item.metadata.namespace
        and meta.name == stand_in_name(item)
    )


def _manifest(candidate: Candidate, spec: Fields) -> Manifest:
    meta = candidate.item.metadata
    owner = {
        "apiVersion": candidate.adapter.api_version,
        "kind": candidate.adapter.kind,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": TrainingJob.definition.kind,
        "metadata": {
            "name": stand_in_name(candidate.item),
            "namespace": meta.namespace,
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def _spec(candidate: Candidate, gang: Gang, said: Fields) -> Fields:
    meta = candidate.item.metadata
    spec: Fields = {
        **said,
        "queue": meta.labels[QUEUE],
        "workers": {
            **_size(candidate, gang, said),
            "gpusPerWorker": gang.gpus,
            "template": gang.template,
        },
        "workloadRef": {
            "apiVersion": candidate.adapter.api_version,
            "kind": candidate.adapter.kind,
            "name": meta.name,
            "uid": meta.uid,
            "gpuResource": gang.gpu_resource,
        },
    }
    if gang.priority_class_name:
        spec["priorityClassName"] = gang.priority_class_name
    checkpoint = spec.get("checkpoint", {})
    if isinstance(checkpoint, dict):
        spec["checkpoint"] = {"saveSeconds": gang.save_seconds, **checkpoint}
    return spec


def _size(candidate: Candidate, gang: Gang, said: Fields) -> Fields:
    """How many workers there may be; as many as it has, unless annotations give a range."""
    given: Any = said.get("workers", {})
    if not isinstance(given, dict):
        raise UnusableWorkload(f"annotation {SETTINGS}workers: must be an object, such as {{}}")
    size: Fields = {**given}
    if not {"min", "max", "allowed"} & size.keys():
        return {**size, "min": gang.count, "max": gang.count}
    if not gang.is_elastic:
        raise UnusableWorkload(
            f"annotations {SETTINGS}workers.min and .max: {candidate.title} cannot change its size:"
            f" {candidate.adapter.to_resize}, or remove them"
        )
    missing = next((name for name in ("min", "max") if name not in size), None)
    if missing is not None:
        # Its own count of pods changes with each resize, so it cannot bound the next.
        raise UnusableWorkload(
            f"annotation {SETTINGS}workers.{missing}: is required for a {candidate.adapter.kind}"
            " that may be resized, whose own count of pods changes with its size"
        )
    least = gang.fixed + 1
    if isinstance(size["min"], int) and size["min"] < least:
        raise UnusableWorkload(
            f"annotation {SETTINGS}workers.min: counts all pods with GPUs, of which"
            f" {candidate.title} has {gang.fixed} at any size: set it to {least} or more"
        )
    _require_within_bounds(candidate, size)
    return size


def _require_within_bounds(candidate: Candidate, size: Fields) -> None:
    """Refuse sizes that a workload's own controller would not follow."""
    bounds = candidate.view.sizing.bounds if candidate.view.sizing is not None else None
    given = [each for each in (size["min"], size["max"]) if isinstance(each, int)]
    if bounds is None or all(bounds.least <= each <= bounds.most for each in given):
        return
    raise UnusableWorkload(
        f"annotations {SETTINGS}workers.min and .max: {candidate.title} has {bounds.least} to"
        f" {bounds.most} pods with GPUs by {bounds.fields}: stay within these, or change them"
    )


def _in_terms_of_annotations(problem: str, said: Fields) -> str:
    """A problem of a field that an annotation gives, by the annotation."""
    given = problem.removeprefix(_IN_SPEC)
    first = given.partition(":")[0].partition(".")[0].partition("[")[0]
    return f"annotation {SETTINGS}{given}" if first in said and given != problem else problem
