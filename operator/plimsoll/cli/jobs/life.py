"""The life of a job: what became of it, when, why, and what that cost.

Events say it best, but are gone after an hour; what a status keeps for longer fills the gaps.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.parts.conditions import condition
from plimsoll.api.parts.disruption import LostWork
from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.jobs.happenings import Happening
from plimsoll.cli.output.report import Line
from plimsoll.vocabulary.reasons import Reason

_SAID_LATER: Final = timedelta(seconds=30)
"""How long after a time in the status the event may follow that means the same."""
_ROUNDED: Final = timedelta(seconds=2)
"""How much earlier it may seem, since both are of whole seconds."""
_SECONDS_PER_HOUR: Final = 3600

_BY_PLAN: Final = "the plan resized, moved or preempted it"

CREATED: Final = "created"
PLACED: Final = "placed"
STARTED: Final = "started"
SAVED: Final = "saved"
RESTARTED: Final = "restarted"
DISRUPTED: Final = "disrupted"
FINISHED: Final = "finished"
FAILED: Final = "failed"
WAITED: Final = "waited"
REPORTED: Final = "reported"

_WHAT: Final[Mapping[str, str]] = {
    Reason.ADOPTED: "adopted",
    Reason.ADMITTED: "admitted",
    Reason.RESIZED: "resized",
    Reason.MIGRATED: "moved",
    Reason.STRAGGLER_REPLACED: "moved",
    Reason.BATCH_CHANGED: "changed its batch",
    Reason.PREEMPTED: "preempted",
    Reason.RECLAIMED: "preempted",
    Reason.EVICTED: "preempted",
    Reason.NODE_LEFT: "displaced",
    Reason.NODE_UNREACHABLE: "displaced",
    Reason.SAVING: "told to save",
    Reason.SUSPENDED: "suspended",
    Reason.RELEASED: "let go",
    Reason.RESTARTING: RESTARTED,
    Reason.POD_REFUSED: "did not start",
    Reason.CANNOT_START: "did not start",
    Reason.PODS_READY_TIMEOUT: "did not start",
    Reason.NODE_REFUSED: "did not start",
    Reason.STRAGGLER_FOUND: "slowed down",
    Reason.COMPLETED: FINISHED,
    Reason.BACKOFF_LIMIT_EXCEEDED: FAILED,
    Reason.FAILED: FAILED,
    Reason.SCALED_TO_ZERO: "scaled to zero",
    Reason.REPLICAS_MISSING: "short of replicas",
    Reason.POWER_CAPPED: "capped",
    Reason.POWER_RELEASED: "uncapped",
    Reason.POWER_OVERSHOOT: "ended early",
    Reason.DRAINING: "drained",
}
"""What became of a job, by the reason of the event."""
_WAITS: Final = frozenset(
    {
        Reason.PENDING,
        Reason.CANNOT_FIT,
        Reason.INSUFFICIENT_GPUS,
        Reason.INSUFFICIENT_RESOURCES,
        Reason.NO_ELIGIBLE_NODE,
        Reason.QUEUE_LIMIT,
        Reason.TOO_MANY_JOBS,
        Reason.QUEUE_NOT_FOUND,
        Reason.QUEUE_NOT_ALLOWED,
        Reason.PRIORITY_NOT_ALLOWED,
        Reason.POWER_BUDGET,
        Reason.SPOT_SHARE,
        Reason.TOPOLOGY_UNSATISFIED,
        Reason.LOWER_PRIORITY,
        Reason.RESERVED,
        Reason.WAITING_FOR_CAPACITY,
        Reason.WAITING_FOR_SPOT,
        Reason.PROVISIONING,
        Reason.INVALID_SPEC,
        Reason.MANAGED_ELSEWHERE,
        Reason.PRIORITY_CLASS_NOT_FOUND,
    }
)
_IN_ORDER: Final = (CREATED, "adopted", "", STARTED, SAVED, FINISHED, FAILED)
"""What comes first and last of what happens at once."""
_AMONG_THEM: Final = _IN_ORDER.index("")
_GETS_PLACE: Final = frozenset({"admitted", "resized", "moved", "displaced"})
_TAKES_PLACE: Final = frozenset({"resized", "moved", "preempted", "displaced"})


class Moment(Line, frozen=True):
    """Something that became of a job, for the `times`-th time; None: it cost nothing known."""

    at: datetime
    what: str
    reason: str
    message: str
    times: int = 1
    gpu_hours_lost: float | None = None


def life(job: Job, said: Iterable[Happening]) -> tuple[Moment, ...]:
    """The moments of a job's life, the oldest first; of events only those about the job itself."""
    about = f"{job.kind}/{job.metadata.name}"
    told = [each for each in said if each.about == about]
    lost = _Losses(job)
    moments = [lost.charged(_moment(each)) for each in told]
    moments += [lost.charged(each) for each in _remembered(job, told)]
    moments += lost.left()
    return tuple(sorted(moments, key=_order))


def _order(moment: Moment) -> tuple[datetime, int]:
    """Sort key: times are mostly of whole seconds, and much happens in one."""
    second = moment.at.replace(microsecond=0)
    return second, _IN_ORDER.index(moment.what) if moment.what in _IN_ORDER else _AMONG_THEM


def _moment(said: Happening) -> Moment:
    return Moment(
        at=said.at,
        what=_what(said.reason),
        reason=said.reason,
        message=said.message,
        times=said.times,
    )


def _what(reason: str) -> str:
    return WAITED if reason in _WAITS else _WHAT.get(reason, REPORTED)


class _Losses:
    """The work that disruptions threw away, each loss charged to one moment."""

    def __init__(self, job: Job) -> None:
        self._left = list(job.status.lost_work) if isinstance(job, TrainingJob) else []

    def charged(self, moment: Moment) -> Moment:
        """The moment, with the work that was lost then."""
        if moment.what not in _TAKES_PLACE and moment.what != DISRUPTED:
            return moment
        near = [each for each in self._left if _may_be(each.time, moment.at, moment.at)]
        if not near:
            return moment
        loss = min(near, key=lambda each: abs(each.time - moment.at))
        self._left.remove(loss)
        return msgspec.structs.replace(moment, gpu_hours_lost=_hours(loss))

    def left(self) -> Iterator[Moment]:
        """What was lost at other moments than all these."""
        for loss in self._left:
            yield Moment(loss.time, DISRUPTED, "", _BY_PLAN, gpu_hours_lost=_hours(loss))


def _hours(loss: LostWork) -> float:
    return round(loss.gpu_seconds / _SECONDS_PER_HOUR, 3)


def _remembered(job: Job, told: Sequence[Happening]) -> Iterator[Moment]:
    """What the status says that no event does."""
    if job.metadata.creation_timestamp is not None:
        yield Moment(job.metadata.creation_timestamp, CREATED, "", f"in queue {job.spec.queue}")
    for at in job.status.disruption_times:
        if not _is_told(at, told, _TAKES_PLACE):
            yield Moment(at, DISRUPTED, "", _BY_PLAN)
    yield from _placed(job, told)
    if isinstance(job, TrainingJob):
        yield from _restarted(job, told)
        yield from _saved(job)
        yield from _ended(job, told)


def _placed(job: Job, told: Sequence[Happening]) -> Iterator[Moment]:
    status = job.status
    admitted, running = (condition(status.conditions, kind) for kind in ("Admitted", "Running"))
    if status.admitted_time is not None and not _is_told(status.admitted_time, told, _GETS_PLACE):
        reason, message = (admitted.reason, admitted.message) if admitted else ("", "")
        yield Moment(status.admitted_time, PLACED, reason, message)
    if status.started_time is not None:
        is_up = running is not None and running.status == "True"
        message = running.message if running is not None and is_up else ""
        noun = "replicas" if isinstance(job, InferenceJob) else "workers"
        message = message or f"all {noun} were ready"
        yield Moment(status.started_time, STARTED, Reason.RUNNING, message)


def _restarted(job: TrainingJob, told: Sequence[Happening]) -> Iterator[Moment]:
    for at in job.status.restart_times:
        if not _is_told(at, told, {RESTARTED, FAILED}):
            failures = [each for each in job.status.failures if abs(each.time - at) <= _ROUNDED]
            said = "; ".join(f"a worker on {each.node} {each.message}" for each in failures)
            yield Moment(at, RESTARTED, Reason.RESTARTING, said or "a worker failed")


def _saved(job: TrainingJob) -> Iterator[Moment]:
    progress = job.status.progress
    if progress is not None and progress.last_checkpoint is not None:
        done = f"{progress.saved_done:,} {progress.unit}" if progress.saved_done is not None else ""
        yield Moment(progress.last_checkpoint, SAVED, "", done)


def _ended(job: TrainingJob, told: Sequence[Happening]) -> Iterator[Moment]:
    at = job.status.finished_time
    if at is None or _is_told(at, told, {FINISHED, FAILED}):
        return
    found = condition(job.status.conditions, "Failed")
    has_failed = found is not None and found.status == "True"
    said = found if has_failed else condition(job.status.conditions, "Complete")
    reason, message = (said.reason, said.message) if said else ("", "")
    yield Moment(at, FAILED if has_failed else FINISHED, reason, message)


def _is_told(at: datetime, told: Iterable[Happening], kinds: Iterable[str]) -> bool:
    """Whether an event says what a time in the status means."""
    kinds = frozenset(kinds)
    return any(_may_be(at, each.first, each.at) and _what(each.reason) in kinds for each in told)


def _may_be(at: datetime, first: datetime, last: datetime) -> bool:
    """Whether a time in the status may mean an event that was said from `first` to `last`."""
    return first - _SAID_LATER <= at <= last + _ROUNDED
