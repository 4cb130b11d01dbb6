"""Report workers that are much slower than the rest of their gang in a training job's status.

A worker is watched from the first report that shows it to be slow, and reported once that has
lasted: by the condition `Degraded`, and an event on the job and on the pod. Watched workers are
kept in the status, so an operator that restarts only has to hear from the workers again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from plimsoll.acting.conditions.conditions import DAY, Fact, reported, whole_second
from plimsoll.acting.step import JobEvent, Step, Turn
from plimsoll.api.parts.conditions import is_true
from plimsoll.api.parts.gang_roles import WORKER
from plimsoll.api.parts.stragglers import MOST_REPLACED, MOST_SLOW, ReplacedWorker, SlowWorker
from plimsoll.api.placement_policy import Stragglers
from plimsoll.api.training_job import (
    MOST_FAILURES,
    TrainingJob,
    TrainingJobStatus,
    WorkerFailure,
)
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.training.stragglers import Pace, paces, sentence, was_replaced
from plimsoll.vocabulary.reasons import Reason

DEGRADED: Final = "Degraded"
_REMEMBERED: Final = timedelta(days=7)
_DIGITS: Final = 6


def with_stragglers(step: Step, turn: Turn) -> Step:
    """The step, which also reports what is new about slow workers."""
    job, status = step.job.training, step.status
    if job is None or not isinstance(status, TrainingJobStatus):
        return step
    if _goes_on(job, status):
        return _judged(step, job, status, turn)
    return _left(step, job, status, turn)


def _goes_on(job: TrainingJob, status: TrainingJobStatus) -> bool:
    """Whether the reporting gang is the one that is to run on."""
    before, now = job.status.placement, status.placement
    if status.finished_time is not None:
        return False
    return before is not None and now is not None and before.revision == now.revision


def _left(step: Step, job: TrainingJob, status: TrainingJobStatus, turn: Turn) -> Step:
    """The gang goes; nothing is known about the next one yet."""
    is_replaced = status.reason == Reason.STRAGGLER_REPLACED and status.placement is not None
    gone = _gone(job, status, turn) if is_replaced and job.status.slow_workers else ()
    kept = [each for each in status.replaced_workers if turn.now - each.time < _REMEMBERED]
    now = status.model_copy(
        update={"slow_workers": (), "replaced_workers": (*kept, *gone)[-MOST_REPLACED:]}
    )
    step = step if now == status else replace(step, status=now)
    return reported(step, _degraded_facts(now, None), turn.now)


def _gone(job: TrainingJob, status: TrainingJobStatus, turn: Turn) -> tuple[ReplacedWorker, ...]:
    """The stragglers whose nodes the new placement avoids."""
    before, after = job.status.placement, status.placement
    assert before is not None  # noqa: S101 - slow workers are those of a placement
    assert after is not None  # noqa: S101 - only called with one
    here = {name for place in after.assignments for name in place.nodes}
    now = whole_second(turn.now)
    return tuple(
        ReplacedWorker(
            replica=slow.replica,
            workers=before.workers,
            node=slow.node,
            time=now,
            until=now + _rules(turn).avoid,
        )
        for slow in job.status.slow_workers
        if slow.found_time is not None and slow.node not in here
    )


def _judged(step: Step, job: TrainingJob, status: TrainingJobStatus, turn: Turn) -> Step:
    """Evaluate the gang's reports."""
    rules, report = _rules(turn), step.job.report
    known = {each.replica: each for each in status.slow_workers}
    if status.notice is not None or status.started_time is None or report is None:
        return step
    found = paces(report.reports, turn.now, rules.slower_percent) if rules.slower_percent else ()
    if found is None:
        return step
    slow = _slow(step.job, found, known, rules)
    new = [each for each in slow if each.found_time and not _is_found(known.get(each.replica))]
    is_minute = status.progress != job.status.progress
    if not new and not is_minute and {each.replica for each in slow} == known.keys():
        return step
    now = status.model_copy(
        update={"slow_workers": slow, "failures": _failures(status, new, turn.now)}
    )
    return _with_events(step, now, new, turn)


def _slow(
    view: JobView, found: Sequence[Pace], known: dict[int, SlowWorker], rules: Stragglers
) -> tuple[SlowWorker, ...]:
    """The workers that are slow now, and known slow ones that have not reported since."""
    heard = {pace.report.replica for pace in found}
    node_of = {pod.name: pod.node for pod in view.pods}
    silent = [each for each in known.values() if each.replica not in heard] if heard else []
    now = [
        _slow_worker(pace, node_of[pace.report.pod], known.get(pace.report.replica), rules)
        for pace in found
        if pace.is_slow
    ]
    return (*now, *silent)[:MOST_SLOW]


def _slow_worker(pace: Pace, node: str, before: SlowWorker | None, rules: Stragglers) -> SlowWorker:
    at = whole_second(pace.report.at)
    since, found = (before.since, before.found_time) if before else (at, None)
    return SlowWorker(
        replica=pace.report.replica,
        node=node,
        since=since,
        compute_seconds=_decimal(pace.seconds),
        gang_seconds=_decimal(pace.gang_seconds),
        lost_percent=int(100 * pace.lost),
        found_time=found or (at if at - since >= rules.after else None),
    )


def _is_found(slow: SlowWorker | None) -> bool:
    return slow is not None and slow.found_time is not None


def _failures(
    status: TrainingJobStatus, found: Iterable[SlowWorker], now: datetime
) -> tuple[WorkerFailure, ...]:
    """A straggler counts against its node like a failure, unless it was slow elsewhere too."""
    new = [
        WorkerFailure(node=slow.node, time=whole_second(now), message=f"was slow: {sentence(slow)}")
        for slow in found
        if was_replaced(status, slow) is None
    ]
    if not new:
        return status.failures
    recent = [each for each in status.failures if now - each.time < DAY]
    return (*recent, *new)[-MOST_FAILURES:]


def _with_events(
    step: Step, status: TrainingJobStatus, found: list[SlowWorker], turn: Turn
) -> Step:
    pods = {pod.replica: pod for pod in step.job.pods if pod.role == WORKER}
    events = tuple(
        JobEvent(
            Reason.STRAGGLER_FOUND, _message(status, slow), warning=True, pods=(pods[slow.replica],)
        )
        for slow in found
    )
    worst = next((each for each in status.slow_workers if each.found_time), None)
    step = replace(step, status=status, events=(*step.events, *events))
    return reported(step, _degraded_facts(status, worst), turn.now)


def _message(status: TrainingJobStatus, slow: SlowWorker) -> str:
    """What is known about a straggler, and whether its node is to blame."""
    before = was_replaced(status, slow)
    loss = f"{sentence(slow)}; that costs the gang {slow.lost_percent} % of its time"
    if before is None:
        return loss
    return f"{loss}; it was also slow on {before.node}, so it has more work than the others"


def _degraded_facts(status: TrainingJobStatus, worst: SlowWorker | None) -> tuple[Fact, ...]:
    """Whether a straggler delays the gang, when that begins or ends."""
    if is_true(status.conditions, DEGRADED) == (worst is not None):
        return ()
    if worst is not None:
        return (Fact.true(DEGRADED, Reason.STRAGGLER_FOUND, _message(status, worst)),)
    reason = Reason(status.reason) if status.reason in set(Reason) else Reason.RUNNING
    return (Fact.false(DEGRADED, reason),)


def _rules(turn: Turn) -> Stragglers:
    policy = turn.snapshot.policy
    return policy.spec.stragglers if policy else Stragglers()


def _decimal(seconds: float) -> Decimal:
    return round(Decimal(repr(seconds)), _DIGITS)
