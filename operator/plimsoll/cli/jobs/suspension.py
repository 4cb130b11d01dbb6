"""Suspend and resume a job: what is written, and what that means for it, in a sentence."""

from dataclasses import dataclass

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.parts.conditions import condition
from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.jobs.naming import scales, stands_for, title
from plimsoll.cli.jobs.places import assignments_of, milli_gpus
from plimsoll.cli.output.report import Line, gpus
from plimsoll.errors import BadInput
from plimsoll.observe.adoption.kinds.table import adapter_of_kind
from plimsoll.vocabulary.reasons import Reason


class Change(Line, frozen=True):
    """What was done with a job: whether it is `suspended` now, was `changed`, and what follows."""

    job: str
    suspended: bool
    changed: bool
    message: str


@dataclass(frozen=True, slots=True)
class Write:
    """What is to be written of a job's spec; None if nothing is."""

    suspend: bool | None
    change: Change


def suspension(job: Job) -> Write:
    """What suspending a job takes. Raises BadInput if it cannot be stopped."""
    _require_stoppable(job)
    if job.spec.suspend:
        return _unchanged(job, "suspended already")
    return _changed(job, suspended=True, message=_what_stops(job))


def resumption(job: Job) -> Write:
    """What resuming a job takes. Raises BadInput if it is over."""
    _require_unfinished(job)
    if not job.spec.suspend:
        return _unchanged(job, f"not suspended: {job.status.reason or 'not planned yet'}")
    message = "resumed: it waits for a place, like any other job"
    if stands_for(job):
        message += f"; {stands_for(job)} is resumed once it has one"
    return _changed(job, suspended=False, message=message)


def is_settled(job: Job, *, suspended: bool) -> bool:
    """Whether a job has done what was asked of it: runs nothing, or runs again."""
    if suspended:
        said = condition(job.status.conditions, "Admitted")
        is_said = said is not None and said.reason == Reason.SUSPENDED
        return is_said and job.status.placement is None
    running = condition(job.status.conditions, "Running")
    is_over = isinstance(job, TrainingJob) and job.status.finished_time is not None
    return is_over or (running is not None and running.status == "True")


def _unchanged(job: Job, message: str) -> Write:
    change = Change(title(job), suspended=job.spec.suspend, changed=False, message=message)
    return Write(suspend=None, change=change)


def _changed(job: Job, *, suspended: bool, message: str) -> Write:
    change = Change(title(job), suspended=suspended, changed=True, message=message)
    return Write(suspend=suspended, change=change)


def _require_unfinished(job: Job) -> None:
    if isinstance(job, TrainingJob) and job.status.finished_time is not None:
        raise BadInput([f"{title(job)}: is over ({job.status.reason}): create it anew"])


def _require_stoppable(job: Job) -> None:
    _require_unfinished(job)
    ref = job.spec.workload_ref if isinstance(job, TrainingJob) else None
    adapter = adapter_of_kind(ref.api_version, ref.kind) if ref is not None else None
    if adapter is not None and not adapter.can_stop and job.status.started_time is not None:
        what = f"{title(job)}: {stands_for(job)} runs, and nobody would make its pods again"
        raise BadInput([f"{what}: delete its pods to stop it"])


def _what_stops(job: Job) -> str:
    places = assignments_of(job)
    if isinstance(job, InferenceJob):
        return _service_stops(job, len(places))
    if not places:
        return "suspended: it no longer waits for a place"
    held = gpus(sum(milli_gpus(job, each.role) * len(each.nodes) for each in places))
    noun = "pod saves and stops" if len(places) == 1 else "pods save and stop"
    of = f" of {stands_for(job)}" if stands_for(job) else ""
    return f"suspended: {len(places)} {noun}{of}, which frees {held:g} GPUs"


def _service_stops(job: InferenceJob, replicas: int) -> str:
    """A service keeps nothing: it is scaled to zero, and answers nothing until it is resumed."""
    what = f"{scales(job)} is scaled to zero" if scales(job) else "it is scaled to zero"
    draining = f" as its {replicas} replicas drain" if replicas else ""
    remedy = "for zero replicas only while there is no load, resume it and set replicas.min to 0"
    return f"suspended: {what}{draining}, and no load brings it back until it is resumed; {remedy}"
