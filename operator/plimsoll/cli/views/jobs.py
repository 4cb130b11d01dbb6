"""What commands show of a job: what it holds, and whether it runs."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from plimsoll.cli.cluster.objects import InferenceJob, JobObject, TrainingJob
from plimsoll.cli.cluster.reading import Known
from plimsoll.cli.output.report import Line
from plimsoll.cli.views.amounts import number, total
from plimsoll.kube.objects.objects import PriorityClass

WORKER = "worker"


class WaitingJob(Line, frozen=True):
    """A job without a place: since when, and why; `priority` is None if it is not known."""

    job: str
    queue: str
    priority: int | None
    since: datetime | None
    reason: str
    message: str


def jobs_of(known: Known) -> tuple[JobObject, ...]:
    """All jobs that the user may see."""
    return (*known.of(TrainingJob).items, *known.of(InferenceJob).items)


def gpus_by_role(job: JobObject) -> Mapping[str, float]:
    """The GPUs of a replica of each role; nothing of a role whose pods are not ours to make."""
    spec = job.spec
    workers = {} if spec.workers is None else {WORKER: number(spec.workers.gpus_per_worker)}
    return {**workers, **{role.name: number(role.gpus_per_replica) for role in spec.roles}}


def gpus_by_node(job: JobObject) -> Counter[str]:
    """The GPUs that a job holds on each node, by its placement, in thousandths."""
    placement, of_role = job.place, gpus_by_role(job)
    held: Counter[str] = Counter()
    for place in placement.assignments if placement else ():
        milli = round(of_role.get(place.role, 0) * 1000)
        for node in place.nodes:
            held[node] += milli // len(place.nodes)
    return held


def gpus_held(job: JobObject) -> float:
    """The GPUs that a job holds, by its placement."""
    placement, of_role = job.place, gpus_by_role(job)
    places = placement.assignments if placement else ()
    return total(of_role.get(place.role, 0) for place in places)


def state(job: JobObject) -> str:
    """What a job does, in one word."""
    if job.is_over:
        return "Failed" if job.is_true("Failed") else "Complete"
    if job.status.placement is None:
        return "Suspended" if job.spec.suspend else "Waiting"
    if job.is_true("Degraded"):
        return "Degraded"
    return "Running" if job.is_true("Running") else "Starting"


class Priorities:
    """The priorities of jobs, by the PriorityClasses, if these may be listed."""

    def __init__(self, known: Known) -> None:
        found = known.of(PriorityClass)
        self._are_known = not found.missing
        self._values = {each.metadata.name: each.value for each in found.items}
        defaults = (each.value for each in found.items if each.global_default)
        self._default = next(defaults, 0)

    def of(self, name: str | None) -> int | None:
        """The priority of a class, or the default without one; None if it is not known."""
        if not self._are_known:
            return None
        return self._values.get(name) if name else self._default


def waiting(jobs: Iterable[JobObject], priorities: Priorities) -> list[WaitingJob]:
    """The jobs that wait, the longest first."""
    found = [_waiting(job, priorities) for job in jobs if job.waits]
    return sorted(found, key=lambda each: (each.since is None, each.since, each.job))


def _waiting(job: JobObject, priorities: Priorities) -> WaitingJob:
    return WaitingJob(
        job=job.full_name,
        queue=job.spec.queue,
        priority=priorities.of(job.spec.priority_class_name),
        since=job.waiting_since,
        reason=job.status.reason or "Pending",
        message=job.status.message,
    )
