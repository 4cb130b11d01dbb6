"""Decide what is to be written so that each workload that asks to be planned can be.

A workload is held before a TrainingJob stands for it, and let go before that is removed.
Each change is decided from what is there, so one that was lost is decided again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from plimsoll.acting.patches import merge_patch
from plimsoll.api.model import wire_of
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.adoption.kinds.adapter import Candidate, asks
from plimsoll.observe.adoption.stand_ins import StandIn
from plimsoll.observe.adoption.workloads import Adopted, Workload, changes_of_shape
from plimsoll.observe.queue_access import Refusal
from plimsoll.remembered import once_for_each
from plimsoll.vocabulary.reasons import Reason

OF_USERS = frozenset({"suspend"})
"""Fields of a stand-in's spec that are its users' to set."""


@dataclass(frozen=True, slots=True)
class HoldPods:
    """Have a suspended workload's pods wait behind our scheduling gate."""

    workload: Candidate


@dataclass(frozen=True, slots=True)
class StandFor:
    """Create the TrainingJob that stands for a workload."""

    workload: Candidate
    stand_in: StandIn


@dataclass(frozen=True, slots=True)
class Revise:
    """Merge a patch into the spec of the TrainingJob that stands for a workload."""

    workload: Candidate
    stand_in: TrainingJob
    patch: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LetGo:
    """Resume a workload that no longer asks to be planned, without our gate."""

    workload: Candidate


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
    """Something to tell the user of a workload."""

    workload: Candidate
    said: Refusal


def adoption_changes(adopted: Adopted, *, advises: bool) -> Iterator[Change]:
    """The changes that are due; while plans are only advice, no workload is touched."""
    for workload in adopted.workloads:
        change = _change(workload)
        if change is not None and not (advises and isinstance(change, HoldPods | LetGo)):
            yield change
    for orphan in adopted.orphans.values():
        yield Remove(orphan, unless_asked=True)


def remarks(adopted: Adopted) -> Iterator[Remark]:
    """What is to be said about workloads."""
    for workload in adopted.workloads:
        said = workload.problem or _why_it_stays(workload) or _what_it_awaits(workload)
        if said is not None:
            yield Remark(workload.candidate, said)


@once_for_each
def _change(workload: Workload) -> Change | None:
    candidate, stand_in, wanted = workload.candidate, workload.stand_in, workload.wanted
    adapter, item = candidate.adapter, candidate.item
    rests = candidate.view.at_rest
    if adapter.is_over(item):
        return None
    if not asks(item):
        return LetGo(candidate) if adapter.is_held(item) and rests else None
    if wanted is None:
        return _without_pods(workload)
    if not candidate.is_held:
        return HoldPods(candidate) if rests else None
    return (
        StandFor(candidate, wanted) if stand_in is None else _revision(workload, stand_in, wanted)
    )


def _without_pods(workload: Workload) -> Remove | None:
    """Plan a gang anew whose pods are not all there, and which has no other maker than its user."""
    view, stand_in = workload.candidate.view, workload.stand_in
    if stand_in is None or workload.problem is not None or view.can_stop or not view.suspended:
        return None
    return Remove(stand_in, unless_asked=False)


def _revision(workload: Workload, stand_in: TrainingJob, wanted: StandIn) -> Change | None:
    """What brings a stand-in in line with its workload; None if it is."""
    # The API server refuses some changes of a TrainingJob that is not suspended; one that has no
    # place can be made anew instead.
    if changes_of_shape(wanted.job, stand_in):
        return Remove(stand_in, unless_asked=False)
    kept = {name: getattr(stand_in.spec, name) for name in OF_USERS}
    spec = wanted.job.spec.model_copy(update=kept)
    if spec == stand_in.spec:
        return None
    patch = merge_patch(wire_of(stand_in.spec), wire_of(spec))
    return Revise(workload.candidate, stand_in, patch)


def _why_it_stays(workload: Workload) -> Refusal | None:
    """Why a workload that no longer asks to be planned still is."""
    candidate = workload.candidate
    if asks(candidate.item) or candidate.adapter.is_over(candidate.item):
        return None
    if workload.stand_in is None or candidate.view.suspended:
        return None
    kind = candidate.adapter.kind
    return Refusal(
        Reason.ADOPTED,
        f"the {kind} goes on in its place, as it no longer asks to be planned; it is let go once it"
        " has ended, or as soon as it is suspended",
    )


def _what_it_awaits(workload: Workload) -> Refusal | None:
    """What pods a workload lacks, or why it is not suspended as its user wants."""
    candidate, stand_in = workload.candidate, workload.stand_in
    view = candidate.view
    runs = not view.can_stop and not view.suspended and view.outcome is None
    if runs and stand_in is not None and stand_in.spec.suspend:
        return Refusal(
            Reason.ALREADY_RUNS,
            f"spec.suspend of TrainingJob {stand_in.metadata.name}: {candidate.title} runs on, as"
            " its pods would not be made again: delete them to stop it",
        )
    return candidate.adapter.awaits(candidate)
