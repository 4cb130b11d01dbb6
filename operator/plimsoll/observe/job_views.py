"""Views of jobs, one snapshot after the other: made anew only where something has changed."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from plimsoll.api.kinds import Job
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.adoption.workloads import Adopted
from plimsoll.observe.assumed.alike import Alike
from plimsoll.observe.assumed.assumptions import Assumptions, leaves_out_speeds
from plimsoll.observe.assumed.gpu_types import GpuTypes
from plimsoll.observe.kept import changed, same
from plimsoll.observe.measured.demand import JobDemand
from plimsoll.observe.measured.reports import JobReport, WorkerReport, job_report
from plimsoll.observe.queue_access import QueueAccess
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.observe.standing import Standings
from plimsoll.observe.targets.targets import Found
from plimsoll.observe.views.first_places import FirstPlaces, Surface
from plimsoll.observe.views.job_pods import Divided


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What is known of jobs besides their resources.

    Their pods, who may use which queue, the GPU types that there are, the nodes and pools, what
    workers report by pod, their load, their targets by job, and the workloads that they stand for.
    What has not changed is the same object, except for targets.
    """

    pods: Divided
    access: QueueAccess
    types: GpuTypes
    surface: Surface
    reports: Mapping[str, WorkerReport]
    demands: Mapping[str, JobDemand]
    targeted: Found
    adopted: Adopted


class JobViews:
    """Makes the views, and remembers the last."""

    def __init__(self) -> None:
        self._standings, self._assumptions = Standings(), Assumptions()
        self._alike = Alike()
        self._first_places = FirstPlaces()
        self._known: dict[str, JobView] = {}
        self._jobs: Sequence[Job] = ()
        self._said: Said | None = None
        self._views: tuple[JobView, ...] = ()

    def of(self, jobs: Sequence[Job], said: Said) -> tuple[JobView, ...]:
        """The views of jobs, in their order; the same tuple while none has changed."""
        views = tuple(self._each(jobs, said))
        if not same(views, self._views):
            self._views = views
        self._jobs, self._said = jobs, said
        if len(self._known) > len(jobs):
            self._forget_others({job.metadata.uid for job in jobs})
        return self._views

    def _each(self, jobs: Sequence[Job], said: Said) -> Iterable[JobView]:
        """The views: the last ones of jobs of which nothing is new."""
        learned = self._alike.turn_to(jobs if _are_to_learn(jobs) else ())
        before = self._said
        if before is None or _is_all_new(before, said) or len(jobs) != len(self._jobs):
            return (self._view(job, said) for job in jobs)
        news = _news(before, said)
        if learned:
            news |= self._alike.uids(learned)
        return (
            view if job is was and view.uid not in news else self._view(job, said)
            for job, was, view in zip(jobs, self._jobs, self._views, strict=True)
        )

    def _forget_others(self, uids: AbstractSet[str]) -> None:
        self._known = {uid: job for uid, job in self._known.items() if uid in uids}
        self._standings.forget_others(uids)
        self._assumptions.forget_others(uids)
        self._first_places.forget_others(uids)

    def _view(self, job: Job, said: Said) -> JobView:
        uid = job.metadata.uid
        found = said.targeted.get(uid)
        resource, pods, written = job, said.pods.by_job.get(uid, ()), None
        if found is not None:
            resource, pods, written = found.job, found.pods, job.status
        if isinstance(resource, TrainingJob):
            resource = self._first_places.of(resource, pods, said.surface)
            written = None if resource is job else job.status
            resource = self._assumptions.of(resource, said.types, self._alike.of(uid))
        standing = self._standings.of(resource, said.access)
        report = report_of(resource, pods, said.reports) if said.reports else None
        target = found.target if found else None
        facts = (standing.priority, report, said.demands.get(uid), target)
        refusal = standing.refusal or said.adopted.refusal(uid)
        workload = said.adopted.views.get(uid)
        known = self._known.get(uid)
        if known is None or known.resource is not standing.job or not same(known.pods, pods):
            known = None
        beside = said.pods.beside.get(uid, 0)
        others = (refusal, workload, beside)
        if known is not None and (known.refusal, known.workload, known.beside) != others:
            known = None
        if known is None or (known.priority, known.report, known.demand, known.target) != facts:
            known = JobView(standing.job, facts[0], pods, *facts[1:], written, *others)
            self._known[uid] = known
        return known


def _are_to_learn(jobs: Iterable[Job]) -> bool:
    """Whether any job leaves out what others may have measured."""
    return any(isinstance(job, TrainingJob) and leaves_out_speeds(job) for job in jobs)


def _is_all_new(before: Said, now: Said) -> bool:
    """Whether something has changed that may concern any job."""
    return before.access is not now.access or before.types is not now.types


def _news(before: Said, now: Said) -> AbstractSet[str]:
    """The uids of the jobs about which something else is known."""
    reporting = changed(before.reports, now.reports)
    owners = {now.pods.job_of.get(pod, "") for pod in reporting}
    return (
        owners
        | changed(before.pods.by_job, now.pods.by_job)
        | changed(before.pods.beside, now.pods.beside)
        | changed(before.demands, now.demands)
        | before.targeted.keys()
        | now.targeted.keys()
        | changed(before.adopted.views, now.adopted.views)
        | changed(before.adopted.orphans, now.adopted.orphans)
    )


def report_of(
    job: Job, pods: Iterable[PodView], said: Mapping[str, WorkerReport]
) -> JobReport | None:
    """What the gang of the placement in force reported, or the gang that has a notice to leave.

    Other pods report about a gang that no longer exists.
    """
    if not isinstance(job, TrainingJob):
        return None
    present = job.status.notice or job.status.placement
    if present is None:
        return None
    return job_report((pod.uid for pod in pods if pod.revision == present.revision), said)
