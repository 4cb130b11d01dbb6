"""The jobs that a user may see, in a list."""

from typing import Final

from plimsoll.observe.snapshot import JobView
from plimsoll_console.messages.jobs import JobRow, Jobs
from plimsoll_console.views.holdings import dollars_per_hour, milli_by_type, state_of
from plimsoll_console.views.sight import Sight, key_of
from plimsoll_console.views.stamps import Stamp

MOST_JOBS: Final = 2_000


def jobs_of(sight: Sight, stamp: Stamp) -> Jobs:
    """The jobs that are not over, then the others, by name."""
    views = sorted(sight.jobs, key=lambda view: (view.is_over, view.name))
    rows = tuple(_row(sight, view) for view in views[:MOST_JOBS])
    return Jobs(*stamp, jobs=rows, more=max(0, len(views) - MOST_JOBS))


def _row(sight: Sight, view: JobView) -> JobRow:
    status, held = view.resource.status, milli_by_type(sight.snapshot, view)
    progress = view.training.status.progress if view.training else None
    return JobRow(
        key=key_of(view),
        queue=view.resource.spec.queue,
        priority=view.priority,
        state=state_of(view),
        reason=status.reason,
        gpus_milli=sum(held.values()),
        types=tuple(sorted(held)),
        created=view.resource.metadata.creation_timestamp,
        started=status.started_time,
        percent=progress.percent if progress is not None else None,
        dollars_per_hour=dollars_per_hour(sight.snapshot, view),
    )
