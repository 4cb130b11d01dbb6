"""Record the events of jobs; many admissions of one namespace at once become one event."""

from collections.abc import Iterator

from plimsoll.acting.step import JobEvent
from plimsoll.acting.writes.crowds import Crowd, Crowds, Later, One, after_a_window
from plimsoll.api.definition import API_VERSION
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.observe.adoption.workload_view import WorkloadView
from plimsoll.observe.snapshot import JobView
from plimsoll.vocabulary import logs
from plimsoll.vocabulary.reasons import Reason

_log = logs.logger(__name__)


class JobEvents:
    """Says what happened to jobs."""

    def __init__(self, events: EventRecorder, *, later: Later = after_a_window) -> None:
        self._events = events
        self._admitted = Crowds(events, Reason.ADMITTED, crowd_text, later)

    def say(self, job: JobView, event: JobEvent) -> None:
        """Record an event; an admission among many may be told with others, a little later."""
        _log.info(event.message, job=job.name, reason=event.reason)
        sayings = tuple(_sayings(job, event))
        if _is_plain_admission(event):
            resource = job.resource
            crowd = Crowd(resource.metadata.namespace, resource.spec.queue)
            self._admitted.say(crowd, One(resource.metadata.name, sayings))
            return
        for saying in sayings:
            self._events.record(saying)


def crowd_text(count: int, queue: str, some: str) -> str:
    """What is said of many admitted jobs, of which some are named."""
    return f"{count} jobs of queue {queue} placed: {some}; each says where"


def subject_of(workload: WorkloadView) -> Subject:
    """An adopted workload, as the subject of an event."""
    ref = workload.reference
    return Subject(ref.api_version, ref.kind, ref.name, workload.uid, ref.namespace)


def _sayings(job: JobView, event: JobEvent) -> Iterator[Saying]:
    """An event of a job, its adopted workload and some of its pods."""
    meta = job.resource.metadata
    subjects = [Subject(API_VERSION, job.resource.kind, meta.name, meta.uid, meta.namespace)]
    if job.workload is not None:
        subjects.append(subject_of(job.workload))
    subjects += [Subject("v1", "Pod", p.name, p.uid, p.namespace) for p in event.pods]
    for subject in subjects:
        yield Saying(subject, event.reason, event.message, event.warning)


def _is_plain_admission(event: JobEvent) -> bool:
    return event.reason is Reason.ADMITTED and not event.warning and not event.pods
