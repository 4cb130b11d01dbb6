"""The queues: what each uses of its share, and what waits."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from plimsoll.cli.cluster.objects import JobObject, JobQueue
from plimsoll.cli.cluster.reading import Known
from plimsoll.cli.output.ages import age
from plimsoll.cli.output.document import Document
from plimsoll.cli.output.report import Line
from plimsoll.cli.output.table import Column, Table
from plimsoll.cli.views.amounts import number, shown, total
from plimsoll.cli.views.jobs import gpus_by_role, jobs_of


class Share(Line, frozen=True):
    """What a queue uses of a GPU type; `limit` is None if there is none."""

    gpu_type: str
    used: float
    guaranteed: float = 0
    limit: float | None = None
    borrowed: float = 0


class Queue(Line, frozen=True):
    """A queue; `waiting` and `admitted` count jobs, `waiting_since` is that of the longest."""

    name: str
    parent: str
    waiting: int
    admitted: int
    waiting_since: datetime | None
    shares: tuple[Share, ...]


class Queues(Line, frozen=True):
    """All queues by name."""

    queues: tuple[Queue, ...]


_COLUMNS: Final = (
    Column("QUEUE"),
    Column("PARENT", is_wide=True),
    Column("WAITING", is_number=True),
    Column("LONGEST", is_number=True),
    Column("ADMITTED", is_number=True),
    Column("GPU TYPE"),
    Column("USED", is_number=True),
    Column("GUARANTEED", is_number=True),
    Column("LIMIT", is_number=True),
    Column("BORROWED", is_number=True),
)
_OF_THE_QUEUE: Final = 5
"""So many columns say something of the queue as a whole."""


def queues(known: Known, _now: datetime) -> Queues:
    """The queues by name, also those that only jobs name."""
    jobs, found = jobs_of(known), known.of(JobQueue).items
    since, listed = _longest(jobs), {queue.metadata.name for queue in found}
    made = [
        *(queue_line(queue, since.get(queue.metadata.name)) for queue in found),
        *_unlisted([job for job in jobs if job.spec.queue not in listed]),
    ]
    return Queues(tuple(sorted(made, key=lambda each: each.name)))


def queue_line(queue: JobQueue, since: datetime | None) -> Queue:
    """A queue, as its status says."""
    return Queue(
        name=queue.metadata.name,
        parent=queue.spec.parent,
        waiting=queue.status.pending,
        admitted=queue.status.admitted,
        waiting_since=since,
        shares=tuple(_shares(queue)),
    )


def _shares(queue: JobQueue) -> Iterable[Share]:
    quotas = {each.type: each for each in queue.spec.quotas}
    usage = {each.type: each for each in queue.status.usage}
    for kind in sorted({*quotas, *usage}):
        quota, used = quotas.get(kind), usage.get(kind)
        yield Share(
            gpu_type=kind,
            used=number(used.used) if used else 0,
            guaranteed=number(quota.guaranteed) if quota else 0,
            limit=number(quota.limit) if quota and quota.limit is not None else None,
            borrowed=number(used.borrowed) if used else 0,
        )


def _longest(jobs: Iterable[JobObject]) -> Mapping[str, datetime]:
    """Since when the job waits that has waited longest, by queue."""
    found: dict[str, datetime] = {}
    for job in jobs:
        since = job.waiting_since
        if job.waits and since is not None:
            found[job.spec.queue] = min(since, found.get(job.spec.queue, since))
    return found


def _unlisted(jobs: Sequence[JobObject]) -> Iterable[Queue]:
    """The queues of some jobs, as far as these say."""
    since = _longest(jobs)
    for name in sorted({job.spec.queue for job in jobs}):
        own = [job for job in jobs if job.spec.queue == name]
        yield Queue(
            name=name,
            parent="",
            waiting=sum(job.waits for job in own),
            admitted=sum(job.place is not None for job in own),
            waiting_since=since.get(name),
            shares=tuple(
                Share(kind, total([milli / 1000])) for kind, milli in sorted(_held(own).items())
            ),
        )


def _held(jobs: Iterable[JobObject]) -> Counter[str]:
    """The GPUs that jobs hold, by type, in thousandths."""
    held: defaultdict[str, int] = defaultdict(int)
    for job in jobs:
        of_role, placement = gpus_by_role(job), job.place
        for place in placement.assignments if placement else ():
            if place.accelerator_type:
                held[place.accelerator_type] += round(of_role.get(place.role, 0) * 1000)
    return Counter(held)


def queues_document(found: Queues, now: datetime) -> Document:
    """The queues for people: what holds for a queue as a whole stands once."""
    if not found.queues:
        return ["There are no queues, and no jobs."]
    return [queues_table(found.queues, now, repeat=False)]


def queues_rows(found: Queues, now: datetime) -> Table:
    """The queues for programs: a full row for each GPU type."""
    return queues_table(found.queues, now, repeat=True)


def queues_table(found: Iterable[Queue], now: datetime, *, repeat: bool) -> Table:
    """A row for each queue and GPU type, which may `repeat` what holds for the queue."""
    rows: list[tuple[str, ...]] = []
    for queue in found:
        of_queue = (
            queue.name,
            queue.parent or "-",
            shown(queue.waiting),
            age(queue.waiting_since, now),
            shown(queue.admitted),
        )
        for index, share in enumerate(queue.shares or (None,)):
            head = of_queue if repeat or not index else ("",) * _OF_THE_QUEUE
            rows.append((*head, *_cells(share)))
    return Table(_COLUMNS, tuple(rows))


def _cells(share: Share | None) -> tuple[str, ...]:
    if share is None:
        return ("-",) * (len(_COLUMNS) - _OF_THE_QUEUE)
    numbers = (share.used, share.guaranteed, share.limit, share.borrowed)
    return (share.gpu_type, *map(shown, numbers))
