"""Decide what is to be written so that each Job that asks to be planned can be, and no other.

A Job is held before a TrainingJob stands for it, and let go before that TrainingJob is removed.
Each change is decided from what is there, so one that was lost is decided again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from plimsoll.acting.patches import merge_patch
from plimsoll.api.model import wire_of
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.batch_job import BatchJob
from plimsoll.observe.adoption.batch_jobs import asks, is_gated, is_over, view_of
from plimsoll.observe.adoption.stand_ins import StandIn
from plimsoll.observe.adoption.workloads import Adopted, Workload, changes_of_shape
from plimsoll.observe.queue_access import Refusal
from plimsoll.vocabulary.reasons import Reason

OF_USERS = frozenset({"suspend"})
"""Fields of a stand-in's spec that are its users' to set."""


@dataclass(frozen=True, slots=True)
class HoldPods:
    """Have a suspended Job's pods wait behind our scheduling gate."""

    job: BatchJob


@dataclass(frozen=True, slots=True)
class StandFor:
    """Create the TrainingJob that stands for a Job."""

    job: BatchJob
    stand_in: StandIn


@dataclass(frozen=True, slots=True)
class Revise:
    """Merge a patch into the spec of the TrainingJob that stands for a Job."""

    job: BatchJob
    stand_in: TrainingJob
    patch: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LetGo:
    """Resume a Job that no longer asks to be planned, without our gate."""

    job: BatchJob


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete a TrainingJob whose workload has been let go, or which is to be made anew.

    `unless_asked`: only if its workload does not ask to be planned after all.
    """

    stand_in: TrainingJob
    unless_asked: bool


Change = HoldPods | StandFor | Revise | LetGo | Remove


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to tell the user of a Job."""

    job: BatchJob
    said: Refusal


def adoption_changes(adopted: Adopted, *, advises: bool) -> Iterator[Change]:
    """The changes that are due; while plans are only advice, no Job is touched."""
    for workload in adopted.workloads:
        change = _change(workload)
        if change is not None and not (advises and isinstance(change, HoldPods | LetGo)):
            yield change
    for orphan in adopted.orphans.values():
        yield Remove(orphan, unless_asked=True)


def remarks(adopted: Adopted) -> Iterator[Remark]:
    """What is to be said about Jobs."""
    for workload in adopted.workloads:
        said = workload.problem or _why_it_stays(workload)
        if said is not None:
            yield Remark(workload.job, said)


def _change(workload: Workload) -> Change | None:
    job, stand_in, wanted = workload.job, workload.stand_in, workload.wanted
    if is_over(job):
        return None
    if not asks(job):
        return LetGo(job) if is_gated(job) and view_of(job).at_rest else None
    if wanted is None:
        return None
    if not is_gated(job):
        return HoldPods(job) if view_of(job).at_rest else None
    return StandFor(job, wanted) if stand_in is None else _revision(job, stand_in, wanted)


def _revision(job: BatchJob, stand_in: TrainingJob, wanted: StandIn) -> Change | None:
    """What brings a stand-in in line with its Job; None if it is."""
    # The API server refuses some changes of a TrainingJob that is not suspended; one that has no
    # place can be made anew instead.
    if changes_of_shape(wanted.job, stand_in):
        return Remove(stand_in, unless_asked=False)
    kept = {name: getattr(stand_in.spec, name) for name in OF_USERS}
    spec = wanted.job.spec.model_copy(update=kept)
    if spec == stand_in.spec:
        return None
    return Revise(job, stand_in, merge_patch(wire_of(stand_in.spec), wire_of(spec)))


def _why_it_stays(workload: Workload) -> Refusal | None:
    """Why a Job that no longer asks to be planned still is."""
    job = workload.job
    if asks(job) or is_over(job) or workload.stand_in is None or job.spec.suspend:
        return None
    return Refusal(
        Reason.ADOPTED,
        "the Job goes on in its place, as it no longer asks to be planned; it is let go once it"
        " has ended, or as soon as its spec.suspend is true",
    )
