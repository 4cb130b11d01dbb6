"""Match the workloads that ask to be planned with the TrainingJobs that stand for them.

A TrainingJob stands for a workload if it has its uid and the name that Plimsoll would give it.
Whoever may create TrainingJobs may write such a claim, so one without its workload is refused, and
holds nothing.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from plimsoll.api.training_job import TrainingJob
from plimsoll.errors import PlimsollError
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.observe.adoption.asking import is_concern, manager_of
from plimsoll.observe.adoption.kinds.adapter import Candidate, asks
from plimsoll.observe.adoption.kinds.table import adapter_of, maker_of
from plimsoll.observe.adoption.stand_ins import StandIn, is_stand_in, stand_in_name, stand_in_of
from plimsoll.observe.adoption.workload_view import WorkloadView
from plimsoll.observe.kept import Kept, same
from plimsoll.observe.labels import QUEUE
from plimsoll.observe.queue_access import Refusal
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason

_log = logs.logger(__name__)
_NO_SUCH_WORKLOAD: Final = Refusal(
    Reason.INVALID_SPEC,
    "spec.workloadRef names no workload that asks to be planned under this name: delete this"
    f" TrainingJob, and set the label {QUEUE} on the workload instead",
)
Maker = tuple[str, str, str, str]
"""What has made a workload: its namespace, apiVersion, kind and uid.

All four must fit: whoever may write owners could claim a circle of them otherwise.
"""
Children = Mapping[Maker, Sequence[WorkloadObject]]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Workload:
    """A workload that asks to be planned, or did so before.

    `stand_in` is the TrainingJob that stands for it, None while there is none; `wanted` is the one
    that should, None if it does not ask, or cannot be planned: `problem` says why.
    """

    candidate: Candidate
    stand_in: TrainingJob | None
    wanted: StandIn | None
    problem: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Adopted:
    """The workloads of concern, and what follows for the TrainingJobs that stand for them.

    `views` are the workloads by the uid of their TrainingJob, and `homes` the uids of these by that
    of what makes their pods: their workload, or what that has made. `orphans` are TrainingJobs that
    claim to stand for a workload, and do not.
    """

    workloads: tuple[Workload, ...] = ()
    views: Mapping[str, WorkloadView] = field(default_factory=dict[str, WorkloadView])
    homes: Mapping[str, str] = field(default_factory=dict[str, str])
    orphans: Mapping[str, TrainingJob] = field(default_factory=dict[str, TrainingJob])

    def refusal(self, uid: str) -> Refusal | None:
        """Why the TrainingJob with this uid may not run; None if nothing is wrong with it."""
        return _NO_SUCH_WORKLOAD if uid in self.orphans else None


class Workloads:
    """Matches them, one snapshot after the other; what has not changed is not read again."""

    def __init__(self) -> None:
        self._kept = Kept[Adopted]()
        self._candidates: dict[str, Candidate] = {}
        self._read: dict[str, tuple[Candidate, StandIn | None, Refusal | None]] = {}
        self._matched: dict[str, Workload] = {}

    def of(self, items: Sequence[WorkloadObject], trainings: Sequence[TrainingJob]) -> Adopted:
        """The workloads of concern, matched; the same object while nothing has changed."""
        stand_ins = [each for each in trainings if each.spec.workload_ref is not None]
        return self._kept.of(lambda: self._match(items, stand_ins), items, stand_ins)

    def _match(self, items: Sequence[WorkloadObject], stand_ins: Sequence[TrainingJob]) -> Adopted:
        self._forget_others({item.metadata.uid for item in items})
        by_name = {(each.metadata.namespace, each.metadata.name): each for each in stand_ins}
        children = _children(items)
        workloads: list[Workload] = []
        views: dict[str, WorkloadView] = {}
        homes: dict[str, str] = {}
        for item in filter(is_concern, items):
            found = by_name.get((item.metadata.namespace, stand_in_name(item)))
            stand_in = found if found is not None and is_stand_in(found, item) else None
            try:
                candidate = self._candidate(item, children)
            except Exception as error:  # noqa: BLE001 - around one object: the others are planned
                _refused(item, error)
                continue
            workloads.append(self._workload(candidate, stand_in))
            if stand_in is not None:
                uid = stand_in.metadata.uid
                views[uid] = candidate.view
                homes.update((maker, uid) for maker in _makers(candidate))
        orphans = {each.metadata.uid: each for each in stand_ins if each.metadata.uid not in views}
        return Adopted(tuple(workloads), views, homes, orphans)

    def _candidate(self, item: WorkloadObject, children: Children) -> Candidate:
        """A workload as it is read; its view is the same object while nothing about it changed."""
        uid, adapter = item.metadata.uid, adapter_of(item)
        itself = (item.metadata.namespace, adapter.api_version, adapter.kind, uid)
        of_it = [self._candidate(each, children) for each in children.get(itself, ())]
        known = self._candidates.get(uid)
        if known is not None and known.item is item and same(known.children, of_it):
            return known
        found = adapter.candidate(item, of_it)
        if known is not None and known.view == found.view:
            found = replace(found, view=known.view)
        self._candidates[uid] = found
        return found

    def _workload(self, candidate: Candidate, stand_in: TrainingJob | None) -> Workload:
        """A workload with its stand-in; the same object while both are the same."""
        uid = candidate.item.metadata.uid
        known = self._matched.get(uid)
        if known is None or known.candidate is not candidate or known.stand_in is not stand_in:
            known = self._matched[uid] = self._workload_anew(candidate, stand_in)
        return known

    def _workload_anew(self, candidate: Candidate, stand_in: TrainingJob | None) -> Workload:
        uid = candidate.item.metadata.uid
        known = self._read.get(uid)
        if known is None or not _says_the_same(known[0], candidate):
            known = self._read[uid] = (candidate, *_read(candidate))
        _, wanted, problem = known
        if wanted is not None and problem is None:
            problem = _runs_already(candidate, stand_in)
            problem = problem or _changed_while_it_runs(wanted, stand_in, candidate)
        return Workload(candidate, stand_in, wanted if problem is None else None, problem)

    def _forget_others(self, uids: set[str]) -> None:
        for known in (self._read, self._candidates, self._matched):
            for uid in known.keys() - uids:
                del known[uid]


def _children(items: Sequence[WorkloadObject]) -> Children:
    """What each workload has made."""
    found: dict[Maker, list[WorkloadObject]] = defaultdict(list)
    for item in items:
        maker = maker_of(item)
        if maker is not None:
            of = (item.metadata.namespace, maker.api_version, maker.kind, maker.uid)
            found[of].append(item)
    return found


def _makers(candidate: Candidate) -> Iterator[str]:
    """The uids of a workload and of all that it has made."""
    yield candidate.item.metadata.uid
    for child in candidate.children:
        yield from _makers(child)


def _says_the_same(old: Candidate, new: Candidate) -> bool:
    """Whether all that a workload's TrainingJob follows from is unchanged.

    A workload changes several times while it starts, and each reading costs a millisecond.
    """
    if old is new:
        return True
    adapter, was, now = old.adapter, old.item.metadata, new.item.metadata
    same_meta = (was.labels, was.annotations) == (now.labels, now.annotations)
    same_owners = was.owner_references == now.owner_references
    said = (adapter.is_over(each.item) for each in (old, new))
    return (
        same_meta
        and same_owners
        and len({*said}) == 1
        and adapter.managed_by(old.item) == adapter.managed_by(new.item)
        and adapter.problem(old.item) == adapter.problem(new.item)
        and adapter.is_complete(old) == adapter.is_complete(new)
        and old.view.sizing == new.view.sizing
        and old.pod_sets == new.pod_sets
    )


def _read(candidate: Candidate) -> tuple[StandIn | None, Refusal | None]:
    """What should stand for a workload, or why nothing can."""
    item, adapter = candidate.item, candidate.adapter
    if not asks(item) or adapter.is_over(item) or not adapter.is_complete(candidate):
        return None, None
    try:
        manager = manager_of(candidate)
        if manager is not None:
            return None, Refusal(Reason.MANAGED_ELSEWHERE, manager)
        return stand_in_of(candidate), None
    except PlimsollError as error:
        return None, Refusal(Reason.INVALID_SPEC, str(error))
    except Exception as error:  # noqa: BLE001 - around one object: the others are planned
        _refused(item, error)
        message = f"the {adapter.kind} cannot be read ({type(error).__name__}): make it simpler"
        return None, Refusal(Reason.INVALID_SPEC, message)


def _refused(item: WorkloadObject, error: Exception) -> None:
    kind = adapter_of(item).kind
    metrics.FAULTS.labels(kind, "Read").inc()
    name = f"{kind}/{item.metadata.namespace}/{item.metadata.name}"
    _log.warning("object refused", object=name, error=repr(error))


def _runs_already(candidate: Candidate, stand_in: TrainingJob | None) -> Refusal | None:
    """Why a workload cannot be taken over as it is: its pods do not wait for a place."""
    if stand_in is not None or candidate.is_held or candidate.view.suspended:
        return None
    kind = candidate.adapter.kind
    return Refusal(
        Reason.ALREADY_RUNS,
        f"{candidate.title} runs already, where kube-scheduler has put it: set"
        f" {candidate.adapter.suspend_name} of the {kind} to true, and Plimsoll places it and"
        " resumes it",
    )


def _changed_while_it_runs(
    wanted: StandIn, stand_in: TrainingJob | None, candidate: Candidate
) -> Refusal | None:
    """Why changes do not count yet: it runs, and they would be those of another gang."""
    if stand_in is None or stand_in.status.placement is None:
        return None
    fields = changes_of_shape(wanted.job, stand_in)
    if not fields:
        return None
    kind = candidate.adapter.kind
    return Refusal(
        Reason.SHAPE_CHANGED,
        f"the {kind}'s {' and '.join(fields)} changed while it runs, and it goes on as it was: set"
        f" it back, or set spec.suspend of its TrainingJob to true until the {kind} has stopped",
    )


def changes_of_shape(wanted: TrainingJob, stand_in: TrainingJob) -> list[str]:
    """What has changed of a gang, in a user's words, that a placed gang cannot follow."""
    new, old = wanted.spec, stand_in.spec
    is_fixed = new.workers.min == new.workers.most and old.workers.min == old.workers.most
    found = {
        "queue": new.queue != old.queue,
        "GPUs": new.workers.gpus_per_worker != old.workers.gpus_per_worker,
        "pod template": new.workers.template != old.workers.template,
        "parallelism": is_fixed and new.workers.min != old.workers.min,
    }
    return [name for name, has_changed in found.items() if has_changed]
