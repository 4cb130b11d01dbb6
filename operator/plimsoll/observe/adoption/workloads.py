"""Match the Jobs that ask to be planned with the TrainingJobs that stand for them.

A TrainingJob stands for a Job if it has the Job's uid and the name that Plimsoll would give it.
Whoever may create TrainingJobs may write such a claim, so one without its Job is refused, and holds
nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from plimsoll.api.training_job import TrainingJob
from plimsoll.errors import PlimsollError
from plimsoll.kube.objects.batch_job import BatchJob
from plimsoll.observe.adoption.batch_jobs import (
    asks,
    is_concern,
    is_gated,
    is_over,
    manager_of,
    stand_in_name,
    view_of,
)
from plimsoll.observe.adoption.stand_ins import StandIn, is_stand_in, stand_in_of
from plimsoll.observe.adoption.workload_view import WorkloadView
from plimsoll.observe.kept import Kept
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


@dataclass(frozen=True, slots=True)
class Workload:
    """A Job that asks to be planned, or did so before.

    `stand_in` is the TrainingJob that stands for it, None while there is none; `wanted` is the one
    that should, None if the Job does not ask, or cannot be planned: `problem` says why.
    """

    job: BatchJob
    stand_in: TrainingJob | None
    wanted: StandIn | None
    problem: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Adopted:
    """The Jobs of concern, and what follows for the TrainingJobs that stand for them.

    `views` are the workloads by the uid of their TrainingJob, and `homes` the uids of these by that
    of their workload. `orphans` are TrainingJobs that claim to stand for a workload, and do not.
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
        self._read: dict[str, tuple[BatchJob, StandIn | None, Refusal | None]] = {}
        self._views: dict[str, tuple[BatchJob, WorkloadView]] = {}

    def of(self, jobs: Sequence[BatchJob], trainings: Sequence[TrainingJob]) -> Adopted:
        """The Jobs of concern, matched; the same object while nothing has changed."""
        stand_ins = [each for each in trainings if each.spec.workload_ref is not None]
        return self._kept.of(lambda: self._match(jobs, stand_ins), jobs, stand_ins)

    def _match(self, jobs: Sequence[BatchJob], stand_ins: Sequence[TrainingJob]) -> Adopted:
        self._forget_others({job.metadata.uid for job in jobs})
        by_name = {(each.metadata.namespace, each.metadata.name): each for each in stand_ins}
        workloads: list[Workload] = []
        views: dict[str, WorkloadView] = {}
        for job in filter(is_concern, jobs):
            found = by_name.get((job.metadata.namespace, stand_in_name(job)))
            stand_in = found if found is not None and is_stand_in(found, job) else None
            workloads.append(self._workload(job, stand_in))
            if stand_in is not None:
                views[stand_in.metadata.uid] = self._view(job)
        homes = {view.uid: uid for uid, view in views.items()}
        orphans = {each.metadata.uid: each for each in stand_ins if each.metadata.uid not in views}
        return Adopted(tuple(workloads), views, homes, orphans)

    def _workload(self, job: BatchJob, stand_in: TrainingJob | None) -> Workload:
        known = self._read.get(job.metadata.uid)
        if known is None or not _says_the_same(known[0], job):
            known = self._read[job.metadata.uid] = (job, *_read(job))
        _, wanted, problem = known
        if wanted is not None and problem is None:
            problem = _runs_already(job, stand_in) or _changed_while_it_runs(wanted, stand_in)
        return Workload(job, stand_in, wanted if problem is None else None, problem)

    def _view(self, job: BatchJob) -> WorkloadView:
        """How a Job stands: the same object while nothing about it has changed."""
        known = self._views.get(job.metadata.uid)
        if known is None or known[0] is not job:
            view = view_of(job)
            same = known is not None and known[1] == view
            known = self._views[job.metadata.uid] = job, known[1] if same and known else view
        return known[1]

    def _forget_others(self, uids: set[str]) -> None:
        for known in (self._read, self._views):
            for uid in known.keys() - uids:
                del known[uid]


def _says_the_same(old: BatchJob, new: BatchJob) -> bool:
    """Whether all that a Job's TrainingJob follows from is unchanged.

    A Job changes several times while it starts, and each reading costs a millisecond.
    """
    if old is new:
        return True
    if is_over(old) != is_over(new):
        return False
    was, now = old.metadata, new.metadata
    same_meta = (was.labels, was.annotations) == (now.labels, now.annotations)
    same_owners = was.owner_references == now.owner_references
    # It is we who suspend and resume it.
    spec = msgspec.structs.replace(old.spec, suspend=new.spec.suspend)
    return same_meta and same_owners and spec == new.spec


def _read(job: BatchJob) -> tuple[StandIn | None, Refusal | None]:
    """What should stand for a Job, or why nothing can."""
    if not asks(job) or is_over(job):
        return None, None
    try:
        manager = manager_of(job)
        if manager is not None:
            return None, Refusal(Reason.MANAGED_ELSEWHERE, manager)
        return stand_in_of(job), None
    except PlimsollError as error:
        return None, Refusal(Reason.INVALID_SPEC, str(error))
    except Exception as error:  # noqa: BLE001 - around one object: the others are planned
        metrics.FAULTS.labels("Job", "Read").inc()
        name = f"Job/{job.metadata.namespace}/{job.metadata.name}"
        _log.warning("object refused", object=name, error=repr(error))
        message = f"the Job cannot be read ({type(error).__name__}): make it simpler"
        return None, Refusal(Reason.INVALID_SPEC, message)


def _runs_already(job: BatchJob, stand_in: TrainingJob | None) -> Refusal | None:
    """Why a Job cannot be taken over as it is: its pods do not wait for a place."""
    if stand_in is not None or is_gated(job) or job.spec.suspend:
        return None
    return Refusal(
        Reason.ALREADY_RUNS,
        f"Job {job.metadata.name} runs already, where kube-scheduler has put it: set spec.suspend"
        " of the Job to true, and Plimsoll places it and resumes it",
    )


def _changed_while_it_runs(wanted: StandIn, stand_in: TrainingJob | None) -> Refusal | None:
    """Why a Job's changes do not count yet: it runs, and they would be those of another gang."""
    if stand_in is None or stand_in.status.placement is None:
        return None
    fields = changes_of_shape(wanted.job, stand_in)
    if not fields:
        return None
    return Refusal(
        Reason.SHAPE_CHANGED,
        f"the Job's {' and '.join(fields)} changed while it runs, and it goes on as it was: set it"
        " back, or set spec.suspend of its TrainingJob to true until the Job has stopped",
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
