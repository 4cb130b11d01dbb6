"""What has happened to a job, by its status."""

from collections.abc import Callable, Iterator

from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.observe.snapshot import JobView
from plimsoll_console.messages.job import LifeEvent


def life_of(view: JobView, text: Callable[[str], str]) -> tuple[LifeEvent, ...]:
    """What has happened to a job, the latest last; `text` takes from sentences what is hidden."""
    status = view.resource.status
    found = [*_common(view, text)]
    if isinstance(status, TrainingJobStatus):
        found += _training(status, text)
    return tuple(sorted(found, key=lambda event: event.time))


def _common(view: JobView, text: Callable[[str], str]) -> Iterator[LifeEvent]:
    created, status = view.resource.metadata.creation_timestamp, view.resource.status
    if created is not None:
        yield LifeEvent(created, "Created")
    if status.admitted_time is not None:
        yield LifeEvent(status.admitted_time, "Admitted")
    if status.started_time is not None:
        yield LifeEvent(status.started_time, "Started")
    for at in status.disruption_times:
        yield LifeEvent(at, "Disrupted")
    for each in status.conditions:
        yield LifeEvent(
            time=each.last_transition_time,
            what=each.type,
            reason=each.reason,
            message=text(each.message),
            status=each.status,
        )


def _training(status: TrainingJobStatus, text: Callable[[str], str]) -> Iterator[LifeEvent]:
    for at in status.restart_times:
        yield LifeEvent(at, "Restarted")
    for each in status.failures:
        yield LifeEvent(each.time, "WorkerFailed", "", text(f"on {each.node}: {each.message}"))
    for lost in status.lost_work:
        yield LifeEvent(lost.time, "LostWork", gpu_seconds_lost=lost.gpu_seconds)
    for slow in status.replaced_workers:
        what = text(f"worker {slow.replica} on {slow.node}")
        yield LifeEvent(slow.time, "StragglerReplaced", "", what)
    progress = status.progress
    if progress is not None and progress.last_checkpoint is not None:
        yield LifeEvent(progress.last_checkpoint, "Saved")
    if status.finished_time is not None:
        yield LifeEvent(status.finished_time, "Finished")
