"""Jobs in a list."""

from datetime import datetime

from plimsoll_console.messages.base import Message, Stamped
from plimsoll_console.messages.keys import JobKey, JobState


class JobRow(Message, frozen=True):
    """A job in a list."""

    key: JobKey
    queue: str
    priority: int | None
    state: JobState
    reason: str
    gpus_milli: int
    types: tuple[str, ...]
    created: datetime | None
    started: datetime | None
    percent: int | None
    dollars_per_hour: float | None


class Jobs(Stamped, frozen=True):
    """The jobs that the user may see, by name; `more`: how many were left out at the end."""

    jobs: tuple[JobRow, ...]
    more: int
