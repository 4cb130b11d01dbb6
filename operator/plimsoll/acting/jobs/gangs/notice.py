"""The notice before a disturbance: workers that listen may save before their pods are deleted.

It is written together with the decision, stands until its gang has gone, and never gives more time
than it first said, whatever is decided meanwhile. Workers that do not listen, or whose node is
broken, get none; they have their pods' grace period. Where a power domain is over its budget, the
notice gives no more time than the domain may stay over it.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from plimsoll.acting.conditions.conditions import whole_second
from plimsoll.acting.jobs.ending import alive, given_up_at, to_delete
from plimsoll.acting.jobs.overshoot import overshoot_ends
from plimsoll.acting.step import JobEvent, Turn
from plimsoll.api.parts.gang_roles import WORKER
from plimsoll.api.parts.progress import Notice
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.vocabulary.reasons import Reason

MARGIN: Final = timedelta(seconds=15)
"""Time for a notice to arrive and for the current step to end before a save begins."""
_BROKEN: Final = frozenset({Reason.UNHEALTHY, Reason.NOT_READY})


def noticed(
    view: JobView, job: TrainingJob, status: TrainingJobStatus, turn: Turn, event: JobEvent
) -> tuple[TrainingJobStatus, tuple[JobEvent, ...]]:
    """The status and events once the gang of `job` has to go, for the reason in `event`."""
    placement, gang = job.status.placement, alive(view.pods)
    if placement is None or job.status.notice is not None or not _can_save(view, gang, turn):
        return status, (event,)
    sent = whole_second(turn.now)
    deadline = sent + timedelta(seconds=job.spec.checkpoint.save_seconds) + MARGIN
    deadline = min(deadline, max(sent, overshoot_ends(view, turn) or deadline))
    listening = _listening(view)
    notice = Notice(
        id=f"revision-{placement.revision}",
        reason=event.reason,
        message=event.message,
        sent_time=sent,
        deadline=deadline,
        revision=placement.revision,
        workers=listening,
    )
    text = f"{len(listening)} workers must save and stop by {deadline:%H:%M:%S} UTC"
    saving = JobEvent(Reason.SAVING, text, pods=gang)
    return status.model_copy(update={"notice": notice}), (event, saving)


def unheeded(view: JobView, status: TrainingJobStatus, turn: Turn) -> tuple[PodView, ...]:
    """The pods of the notified gang while some of it still saves and has time; otherwise none."""
    notice = status.notice
    if notice is None or turn.now >= notice.deadline:
        return ()
    heeded = view.report.acknowledged(notice.id) if view.report else frozenset[str]()
    gang = tuple(pod for pod in alive(view.pods) if pod.revision == notice.revision)
    workers = (pod for pod in gang if pod.role == WORKER)
    saving = any(pod.replica in notice.workers and pod.name not in heeded for pod in workers)
    return gang if saving else ()


def with_answer(view: JobView, status: TrainingJobStatus, now: datetime) -> TrainingJobStatus:
    """The status with whether the workers have saved for its notice, as soon as that is certain.

    A notice that gave too little time shows nothing, nor do workers that are gone, or of which
    nothing is known since the operator started.
    """
    notice, progress = status.notice, status.progress
    if notice is None or progress is None or view.report is None:
        return status
    heeded = view.report.acknowledged(notice.id)
    workers = [pod for pod in view.pods if pod.role == WORKER and pod.replica in notice.workers]
    have_saved = {pod.replica for pod in workers if pod.name in heeded}
    saved = have_saved >= {*notice.workers}
    had_time = notice.deadline - notice.sent_time >= MARGIN
    have_not = had_time and now >= notice.deadline and len(have_saved) < len(workers)
    if progress.saves_on_notice is saved or not (saved or have_not):
        return status
    progress = progress.model_copy(update={"saves_on_notice": saved})
    return status.model_copy(update={"progress": progress})


def departing(
    pods: Iterable[PodView], view: JobView, status: TrainingJobStatus, turn: Turn
) -> tuple[tuple[PodView, ...], datetime | None]:
    """The departing pods to delete now, and when to look again."""
    saving = unheeded(view, status, turn)
    going = tuple(pod for pod in pods if pod not in saving)
    times = given_up_at(view, going, turn)
    if saving and status.notice is not None:
        times.append(status.notice.deadline)
    return to_delete(view, going, turn), min(times, default=None)


def without_old_notice(view: JobView, status: TrainingJobStatus) -> TrainingJobStatus:
    """The status without a notice whose gang has gone."""
    notice = status.notice
    if notice is None or any(pod.revision == notice.revision for pod in view.pods):
        return status
    return status.model_copy(update={"notice": None})


def _listening(view: JobView) -> tuple[int, ...]:
    heard = {report.pod for report in view.report.reports} if view.report else set[str]()
    return tuple(pod.replica for pod in alive(view.pods) if pod.name in heard)


def _can_save(view: JobView, gang: tuple[PodView, ...], turn: Turn) -> bool:
    """Whether the whole gang is still there, and some of it listens.

    A gang that has lost a worker hangs in its next step and never reaches a save.
    """
    nodes = turn.snapshot.node_by_name
    whole = len(gang) == len(view.pods) and all(
        pod.node in nodes and nodes[pod.node].state.reason not in _BROKEN for pod in gang
    )
    return whole and bool(_listening(view))
