"""What was said of a job, of its pods and of its workload, in order and each thing once.

The operator says most of what it does with a job on its pods and its workload too.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime

from plimsoll.api.kinds import Job
from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.output.explanation import second
from plimsoll.cli.output.report import Line
from plimsoll.cli.output.table import Column, Table
from plimsoll.kube.objects.event import Event
from plimsoll.kube.objects.objects import Pod
from plimsoll.observe.whole_numbers import whole_number


class Happening(Line, frozen=True):
    """Something that was said: `times` times since `first`, and at `at` for the last time."""

    at: datetime
    first: datetime
    times: int
    warning: bool
    about: str
    reason: str
    message: str
    by: str


class Happenings(Line, frozen=True):
    """All that was said of a job, the oldest first."""

    job: str
    events: tuple[Happening, ...]


def happenings(job: Job, pods: Iterable[Pod], events: Iterable[Event]) -> tuple[Happening, ...]:
    """What was said of a job, the oldest first, to the second."""
    concerns = Concern(job, pods)
    found = [each for each in events if concerns.covers(each)]
    said = {(each.reason, each.message, each.by) for each in found if concerns.is_job(each)}
    kept = (each for each in found if concerns.is_job(each) or _words(each) not in said)
    return tuple(_happenings(sorted(kept, key=_order)))


class Concern:
    """What events must be about to be a job's: the job, its workload, and its pods, also past ones.

    A pod that is gone is known by its name, which begins like those of its job.
    """

    def __init__(self, job: Job, pods: Iterable[Pod]) -> None:
        self._job = job
        self._uids = {job.metadata.uid, *(pod.metadata.uid for pod in pods)}
        reference = job.spec.workload_ref if isinstance(job, TrainingJob) else None
        if reference is not None:
            self._uids.add(reference.uid)
        self._prefixes = _past_pods(job)

    def is_job(self, event: Event) -> bool:
        """Whether an event is about the job itself."""
        return event.involved_object.uid == self._job.metadata.uid

    def covers(self, event: Event) -> bool:
        """Whether an event is about the job, its workload or a pod of it."""
        if event.involved_object.uid in self._uids:
            return True
        return event.involved_object.kind == "Pod" and self._is_of_past_pod(event)

    def _is_of_past_pod(self, event: Event) -> bool:
        created, last = self._job.metadata.creation_timestamp, event.last
        if created is None or last is None or last < created:
            return False  # of an earlier job of that name
        name = event.involved_object.name
        return any(
            name.startswith(prefix) and all(part.isdigit() for part in _rest(name, prefix))
            for prefix in self._prefixes
        )


def _past_pods(job: Job) -> Collection[str]:
    """How the names of the pods begin that the operator makes for a job: with its roles."""
    if isinstance(job, TrainingJob) and job.spec.workload_ref is not None:
        return ()
    return tuple(f"{job.metadata.name}-{role}-" for role in job.spec.milli_gpus_by_role)


def _rest(name: str, prefix: str) -> list[str]:
    return name.removeprefix(prefix).split("-")


def _order(event: Event) -> tuple[datetime, int]:
    """Sort key: times are mostly of whole seconds; within one, by when it was written."""
    at, version = event.last or datetime.min.replace(tzinfo=UTC), event.metadata.resource_version
    return at.replace(microsecond=0), whole_number(version) or 0


def _words(event: Event) -> tuple[str | None, str | None, str]:
    return event.reason, event.message, event.by


def _happenings(events: Iterable[Event]) -> Iterator[Happening]:
    for event in events:
        at, first = event.last, event.first
        if at is not None and first is not None:
            yield Happening(
                at=at,
                first=first,
                times=event.times,
                warning=event.type == "Warning",
                about=f"{event.involved_object.kind}/{event.involved_object.name}",
                reason=event.reason or "",
                message=event.message or "",
                by=event.by,
            )


_COLUMNS = (
    Column("LAST SEEN (UTC)"),
    Column("TYPE", is_state=True),
    Column("REASON"),
    Column("OBJECT"),
)


def happenings_table(said: Happenings) -> Table:
    """What was said of a job, for people."""
    return Table(
        columns=_COLUMNS,
        rows=tuple(map(_cells, said.events)),
        text_title="MESSAGE",
        texts=tuple(map(_text, said.events)),
    )


def _cells(each: Happening) -> tuple[str, ...]:
    kind = "Warning" if each.warning else "Normal"
    return second(each.at), kind, each.reason, each.about


def _text(each: Happening) -> str:
    often = f" ({each.times} times since {second(each.first)})" if each.times > 1 else ""
    return f"{each.message}{often}"
