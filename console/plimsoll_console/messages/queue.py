"""The line of waiting jobs, and the queues with their quotas."""

from datetime import datetime

from plimsoll_console.messages.base import Message, Stamped
from plimsoll_console.messages.keys import Asked, JobKey


class WaitingJob(Message, frozen=True):
    """A job that waits. `position` is its place in the line of all jobs, from 1 on.

    `expectedStart` is None while unknown; it is worked out for those that go first, and may be a
    minute old.
    """

    key: JobKey
    position: int
    queue: str
    priority: int | None
    since: datetime | None
    reason: str
    message: str
    asked: tuple[Asked, ...]
    least_milli: int
    expected_start: datetime | None


class WaitingLine(Stamped, frozen=True):
    """Who waits, first those that go first. `others`: how many wait of whom the user sees none."""

    jobs: tuple[WaitingJob, ...]
    others: int
    others_milli: int


class QueueQuota(Message, frozen=True):
    """A queue's use of one GPU type, in GPUs; `limit` is None if there is none."""

    type: str
    used: float
    guaranteed: float
    limit: float | None
    borrowed: float
    average: float
    fair_share: float


class QueueState(Message, frozen=True):
    """A queue: its place among the others, its jobs and its quotas."""

    name: str
    parent: str | None
    weight: int
    active: bool
    reason: str
    message: str
    pending: int
    admitted: int
    quotas: tuple[QueueQuota, ...]


class Queues(Stamped, frozen=True):
    """The queues by name; none where the user may not see them."""

    queues: tuple[QueueState, ...]
