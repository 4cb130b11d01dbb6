"""batch/v1 Jobs. A Job's own controller makes its pods and retries them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from plimsoll.kube.http.resources import BATCH_JOBS
from plimsoll.kube.objects.workload_parts import condition_of
from plimsoll.kube.objects.workloads.batch_job import BatchJob, BatchJobSpec
from plimsoll.observe.adoption.kinds.adapter import Adapter, Candidate, PodSet
from plimsoll.observe.adoption.workload_view import Outcome, Sizing, WorkloadView, outcome_of
from plimsoll.observe.labels import COMPLETION_INDEX
from plimsoll.observe.whole_numbers import whole_number

INDEXED: Final = "Indexed"
_SIZE: Final = Sizing((("spec", "parallelism"), ("spec", "completions")))


class BatchJobs(Adapter[BatchJob]):
    """Jobs; a CronJob only creates them."""

    kind = "Job"
    resource = BATCH_JOBS
    type = BatchJob
    own_managers = frozenset({"kubernetes.io/job-controller"})
    creators = frozenset({("batch/v1", "CronJob")})
    to_resize = "set completionMode to Indexed and completions to parallelism"

    def pod_sets(self, item: BatchJob, _: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """The only pods of a Job."""
        spec = item.spec
        where = ("spec.template", "/spec/template", "spec.parallelism")
        return (PodSet(*where, at_once(spec), spec.template),)

    def view(self, item: BatchJob, _: Sequence[Candidate], /) -> WorkloadView:
        """How a Job stands."""
        spec, status = item.spec, item.status
        return WorkloadView(
            reference=self.reference(item),
            uid=item.metadata.uid,
            suspended=spec.suspend,
            at_rest=spec.suspend
            and (bool(condition_of(status.conditions, "Suspended")) or not status.active),
            parallelism=spec.parallelism,
            due=to_come(item),
            since=None if spec.suspend else status.start_time,
            failures=status.failed,
            outcome=_outcome(item),
            sizing=_SIZE if can_be_resized(spec) else None,
            numbered_by=COMPLETION_INDEX if spec.completion_mode == INDEXED else "",
        )

    def managed_by(self, item: BatchJob) -> str:
        """Who runs it, if somebody else does."""
        return item.spec.managed_by

    def is_suspended(self, item: BatchJob) -> bool:
        """Whether it is to run no pods."""
        return item.spec.suspend

    def is_over(self, item: BatchJob) -> bool:
        """Whether it has completed or failed for good."""
        return _outcome(item) is not None


def at_once(spec: BatchJobSpec) -> int:
    """How many pods of a Job run at once."""
    if spec.completions is None:
        return spec.parallelism
    return min(spec.parallelism, spec.completions)


def can_be_resized(spec: BatchJobSpec) -> bool:
    """Whether a Job's number of pods may change: Kubernetes admits that of such Jobs only."""
    return spec.completion_mode == INDEXED and spec.completions == spec.parallelism


def to_come(job: BatchJob) -> int:
    """How many pods of a Job are to run at once from now on, as some may have ended."""
    spec, status = job.spec, job.status
    if spec.completions is not None:
        ended = status.succeeded + _count(status.failed_indexes)
        return min(spec.parallelism, max(0, spec.completions - ended))
    if status.succeeded:
        # A work queue: none start once one has succeeded.
        return min(spec.parallelism, status.active)
    return spec.parallelism


def _count(indexes: str) -> int:
    """How many numbers a text such as `1,3-5` names."""
    found = 0
    for part in filter(None, indexes.split(",")):
        first, _, last = part.partition("-")
        found += (whole_number(last or first) or 0) - (whole_number(first) or 0) + 1
    return found


def _outcome(job: BatchJob) -> Outcome | None:
    status = job.status
    found = outcome_of(status.conditions, done="Complete")
    if found is None or found.failed:
        return found
    return replace(found, message=f"{status.succeeded} pods succeeded")
