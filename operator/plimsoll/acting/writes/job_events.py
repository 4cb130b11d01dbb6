"""Record the events of jobs; many admissions of one namespace at once become one event.

Each job's conditions say of it what its own event would. What tells of many is about the namespace,
so that whoever may see the jobs may see it, and nobody else.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from plimsoll.acting.step import JobEvent
from plimsoll.api.definition import API_VERSION
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.observe.adoption.workload_view import WorkloadView
from plimsoll.observe.snapshot import JobView
from plimsoll.vocabulary import logs
from plimsoll.vocabulary.reasons import Reason

TOLD_ALONE: Final = 10
"""How many jobs of one namespace and queue may be admitted within a window, each with an event."""
WINDOW_SECONDS: Final = 10.0
MOST_NAMED: Final = 3
_log = logs.logger(__name__)


class Crowd(NamedTuple):
    """Jobs that are told of together."""

    namespace: str
    queue: str


@dataclass(slots=True)
class _Admitted:
    """How many were admitted within a window, and the first of those without an event."""

    count: int = 0
    untold: list[tuple[JobView, JobEvent]] = field(default_factory=list[tuple[JobView, JobEvent]])


class JobEvents:
    """Says what happened to jobs."""

    def __init__(self, events: EventRecorder, *, window_seconds: float = WINDOW_SECONDS) -> None:
        self._events, self._window_seconds = events, window_seconds
        self._admitted: dict[Crowd, _Admitted] = {}

    def say(self, job: JobView, event: JobEvent) -> None:
        """Record an event; an admission among many may be told with others, a little later."""
        _log.info(event.message, job=job.name, reason=event.reason)
        if not (_is_plain_admission(event) and self._is_one_of_many(job, event)):
            self._record(job, event)

    def _is_one_of_many(self, job: JobView, event: JobEvent) -> bool:
        """Whether an admission is told together with others; if so, it is counted among them."""
        resource = job.resource
        crowd = Crowd(resource.metadata.namespace, resource.spec.queue)
        found = self._admitted.get(crowd)
        if found is None:
            found = self._admitted[crowd] = _Admitted()
            asyncio.get_running_loop().call_later(self._window_seconds, self._tell, crowd)
        found.count += 1
        if found.count <= TOLD_ALONE:
            return False
        if len(found.untold) <= MOST_NAMED:
            found.untold.append((job, event))
        return True

    def _tell(self, crowd: Crowd) -> None:
        """Tell of those that were admitted within a window and have not been told of."""
        admitted = self._admitted.pop(crowd)
        untold, count = admitted.untold, admitted.count - TOLD_ALONE
        if len(untold) <= MOST_NAMED:
            for job, event in untold:
                self._record(job, event)
            return
        subject = Subject("v1", "Namespace", crowd.namespace, "", crowd.namespace)
        self._events.record(Saying(subject, Reason.ADMITTED, crowd_text(crowd, untold, count)))

    def _record(self, job: JobView, event: JobEvent) -> None:
        meta = job.resource.metadata
        subjects = [Subject(API_VERSION, job.resource.kind, meta.name, meta.uid, meta.namespace)]
        if job.workload is not None:
            subjects.append(subject_of(job.workload))
        subjects += [Subject("v1", "Pod", p.name, p.uid, p.namespace) for p in event.pods]
        for subject in subjects:
            self._events.record(Saying(subject, event.reason, event.message, event.warning))


def crowd_text(crowd: Crowd, some: list[tuple[JobView, JobEvent]], count: int) -> str:
    """What is said of many admitted jobs, of which some are given."""
    names = ", ".join(job.resource.metadata.name for job, _ in some[:MOST_NAMED])
    more = count - MOST_NAMED
    return f"{count} jobs of queue {crowd.queue} placed: {names} and {more} more; each says where"


def subject_of(workload: WorkloadView) -> Subject:
    """An adopted workload, as the subject of an event."""
    ref = workload.reference
    return Subject(ref.api_version, ref.kind, ref.name, workload.uid, ref.namespace)


def _is_plain_admission(event: JobEvent) -> bool:
    return event.reason is Reason.ADMITTED and not event.warning and not event.pods
