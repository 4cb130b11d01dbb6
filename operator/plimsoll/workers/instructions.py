"""Instructions for a worker, from its job's status and its own report."""

from datetime import datetime

from plimsoll.api.parts.progress import Notice
from plimsoll.workers.membership import Worker
from plimsoll.workers.messages import BatchMessage, Instructions, NoticeMessage


def instructions(
    worker: Worker,
    acknowledged: str,
    now: datetime,
    *,
    save_seconds: float,
    report_seconds: float,
) -> Instructions:
    """The instructions for a worker that has saved for the notice `acknowledged`, "" for none.

    It should save and report at these intervals, in seconds.
    """
    notice = worker.job.status.notice
    return Instructions(
        save=notice is not None and notice.id != acknowledged,
        stop=notice is not None,
        notice=None if notice is None else _message(notice, now),
        checkpoint_interval_seconds=save_seconds,
        report_interval_seconds=report_seconds,
        batch=_batch(worker),
    )


def _batch(worker: Worker) -> BatchMessage | None:
    """The batch of the worker's gang; None if it has none, or the job has been placed anew."""
    placement = worker.job.status.placement
    if placement is None or placement.batch is None or placement.revision != worker.revision:
        return None
    batch = placement.batch
    return BatchMessage(batch.size, batch.local, batch.accumulation)


def _message(notice: Notice, now: datetime) -> NoticeMessage:
    left = (notice.deadline - now).total_seconds()
    return NoticeMessage(
        notice.id, notice.reason, notice.message, notice.deadline, round(max(0.0, left), 3)
    )
