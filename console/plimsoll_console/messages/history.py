"""What has changed, moment by moment."""

from datetime import datetime

from plimsoll_console.messages.base import Message, Stamped
from plimsoll_console.messages.keys import JobKey


class Change(Message, frozen=True):
    """What changed for a job. `before` and `after` are its milli-GPUs by GPU type.

    `what`: `Starts`, `Grows`, `Shrinks`, `Moves`, `Stops`, `Ends`, `Waits`, `Gone`.
    """

    key: JobKey
    what: str
    reason: str
    message: str
    before: dict[str, int]
    after: dict[str, int]


class Frame(Message, frozen=True):
    """A moment at which something changed, with the changes that the user may see.

    `others`: how many more jobs changed. The figures are the whole cluster's.
    """

    time: datetime
    gap_percent: float | None
    jobs_running: int
    jobs_waiting: int
    gpus_milli: int
    taken_milli: int
    changes: tuple[Change, ...]
    others: int


class History(Stamped, frozen=True):
    """What has changed in the last hours, the latest last. `since`: from when on it is known."""

    since: datetime
    frames: tuple[Frame, ...]
