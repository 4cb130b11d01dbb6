"""JobSets. A JobSet makes Jobs, which make its pods."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.workload_parts import WorkloadCondition, condition_of
from plimsoll.kube.objects.workloads.batch_job import BatchJob
from plimsoll.kube.objects.workloads.job_set import JobSet, ReplicatedJob
from plimsoll.observe.adoption.kinds.adapter import Adapter, Candidate, PodSet, asks_for_gpus
from plimsoll.observe.adoption.kinds.batch_jobs import at_once, to_come
from plimsoll.observe.adoption.workload_view import WorkloadView, outcome_of

_NAME: Final = "jobset.sigs.k8s.io/replicatedjob-name"
_ATTEMPT: Final = "jobset.sigs.k8s.io/restart-attempt"
OF_JOBS: Final = frozenset({_NAME, _ATTEMPT})
"""The labels of a JobSet's Jobs that say which of its Jobs they are."""
_DONE: Final = "Completed"


class JobSets(Adapter[JobSet]):
    """JobSets; their number of pods is fixed, as the JobSet's own controller has it."""

    kind = "JobSet"
    resource = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets")
    type = JobSet
    own_managers = frozenset({"jobset.sigs.k8s.io/jobset-controller"})
    makes = frozenset({("batch/v1", "Job")})

    def pod_sets(self, item: JobSet, _: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """The pods of each of its replicated Jobs."""
        return tuple(_pod_sets(item))

    def view(self, item: JobSet, children: Sequence[Candidate], /) -> WorkloadView:
        """How a JobSet stands; how many pods are left, its Jobs say."""
        spec, status = item.spec, item.status
        jobs = [each.item for each in children if isinstance(each.item, BatchJob)]
        with_gpus: list[ReplicatedJob] = []
        without = 0
        for pods, each in zip(_pod_sets(item), spec.replicated_jobs, strict=True):
            if asks_for_gpus(pods.template.spec):
                with_gpus.append(each)
            elif not pods.late:
                without += _left(item, each, jobs)
        rests = condition_of(status.conditions, "Suspended") is not None
        # The condition is there before the last Jobs have been told.
        rests = rests and all(each.view.at_rest for each in children if each.view.outcome is None)
        return WorkloadView(
            reference=self.reference(item),
            uid=item.metadata.uid,
            suspended=spec.suspend,
            at_rest=spec.suspend and rests,
            parallelism=sum(map(_pods, with_gpus)),
            due=sum(_left(item, each, jobs) for each in with_gpus),
            beside=without,
            since=None if spec.suspend else _resumed(status.conditions),
            failures=status.restarts,
            outcome=outcome_of(item.status.conditions, done=_DONE),
        )

    def managed_by(self, item: JobSet) -> str:
        """Who runs it, if somebody else does."""
        return item.spec.managed_by

    def is_suspended(self, item: JobSet) -> bool:
        """Whether it is to run no pods."""
        return item.spec.suspend

    def is_over(self, item: JobSet) -> bool:
        """Whether it has completed or failed for good."""
        return outcome_of(item.status.conditions, done=_DONE) is not None


def _pod_sets(item: JobSet) -> Iterator[PodSet]:
    in_order = item.spec.startup_policy.startup_policy_order == "InOrder"
    for index, each in enumerate(item.spec.replicated_jobs):
        yield PodSet(
            field=f"spec.replicatedJobs[{each.name}].template.spec.template",
            pointer=f"/spec/replicatedJobs/{index}/template/spec/template",
            count_field=f"spec.replicatedJobs[{each.name}].replicas",
            count=_pods(each),
            template=each.template.spec.template,
            late=bool(each.depends_on) or (in_order and index > 0),
            made_by=each.template.metadata.labels,
        )


def _pods(jobs: ReplicatedJob) -> int:
    return jobs.replicas * at_once(jobs.template.spec)


def _left(item: JobSet, of: ReplicatedJob, jobs: Sequence[BatchJob]) -> int:
    """How many pods are to run at once from now on, as some Jobs may have ended in part."""
    attempt, each = str(item.status.restarts), at_once(of.template.spec)
    present = (
        job
        for job in jobs
        if job.metadata.labels.get(_NAME) == of.name
        and job.metadata.labels.get(_ATTEMPT) == attempt
    )
    return max(0, _pods(of) - sum(each - to_come(job) for job in present))


def _resumed(conditions: Sequence[WorkloadCondition]) -> datetime | None:
    """When it was last resumed; None if it has never been suspended."""
    found = (each for each in conditions if (each.type, each.status) == ("Suspended", "False"))
    return next((each.last_transition_time for each in found), None)
