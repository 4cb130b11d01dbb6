"""Restart a gang that has lost a worker, in place and after a pause, or fail its job."""

from datetime import datetime, timedelta

from plimsoll.acting.conditions.conditions import DAY, Fact, whole_second, with_conditions
from plimsoll.acting.jobs.ending import alive, not_deleting
from plimsoll.acting.jobs.starting import LONGEST_WORD
from plimsoll.acting.step import JobEvent, Step, Turn
from plimsoll.api.training_job import (
    MOST_FAILURES,
    TrainingJob,
    TrainingJobStatus,
    WorkerFailure,
)
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.vocabulary.reasons import Reason

OUT_OF_MEMORY = "OOMKilled"
NEVER_RAN = frozenset({"StartError", "ContainerCannotRun"})
"""What the kubelet says of a container that could not be started."""
RETRY = timedelta(seconds=10)
"""The least time between two starts of a gang that ended through no fault of its own."""


def interrupted(view: JobView, job: TrainingJob, status: TrainingJobStatus, turn: Turn) -> Step:
    """A worker failed or vanished: restart the whole gang, or fail the job."""
    failed = [pod for pod in view.pods if pod.phase == "Failed" and not pod.disrupted]
    message = _what_happened(view, failed)
    rules = job.spec.fault_tolerance
    recent = [at for at in status.restart_times if turn.now - at < rules.within]
    status = status.model_copy(update={"failures": _failures(status, failed, turn)})
    if failed and len(recent) >= rules.max_restarts:
        return _failed(view, status, turn, f"{message}; gave up after {len(recent)} restarts")
    if not failed:
        status = status.model_copy(update={"next_restart_time": _breath(view.pods, turn)})
        return _restarting(view, status, turn, f"{message}; the gang restarts")
    pause = _pause(job, len(recent))
    status = status.model_copy(
        update={
            "restarts": status.restarts + 1,
            "restart_times": (*recent, whole_second(turn.now)),
            "next_restart_time": whole_second(turn.now + pause),
        }
    )
    text = f"{message}; the gang restarts in {pause.total_seconds():.0f} s"
    return _restarting(view, status, turn, text)


def _failures(
    status: TrainingJobStatus, failed: list[PodView], turn: Turn
) -> tuple[WorkerFailure, ...]:
    """The failures that count against nodes: one each, for workers that ran where they were placed.

    Workers that ran out of memory do not count.
    """
    recent = [each for each in status.failures if turn.now - each.time < DAY]
    places = status.placement.assignments if status.placement else ()
    placed = {(place.role, place.replica): place.nodes for place in places}
    blamed = {
        pod.node: pod
        for pod in failed
        # Anybody who makes a pod with a worker's labels may send it to any node.
        if pod.node in placed.get((pod.role, pod.replica), ()) and not _is_own_fault(pod)
    }
    new = [
        WorkerFailure(node=node, time=whole_second(turn.now), message=how_it_ended(pod))
        for node, pod in blamed.items()
    ]
    return tuple((*recent, *new)[-MOST_FAILURES:])


def _is_own_fault(pod: PodView) -> bool:
    return pod.end is not None and pod.end.reason == OUT_OF_MEMORY


def _breath(pods: tuple[PodView, ...], turn: Turn) -> datetime | None:
    """When a gang evicted by its node may start again, so that it is not evicted repeatedly."""
    times = [(pod.created or turn.now) + RETRY for pod in pods if pod.phase == "Failed"]
    last = max(times, default=turn.now)
    return whole_second(last) if last > turn.now else None


def _pause(job: TrainingJob, failures: int) -> timedelta:
    backoff = job.spec.fault_tolerance.backoff
    return min(backoff.max, backoff.initial * 2 ** min(failures, 16))


def _restarting(view: JobView, status: TrainingJobStatus, turn: Turn, message: str) -> Step:
    """Restart in the same places: pods of the old revision go, then those of the new one come."""
    placement = status.placement
    assert placement is not None  # noqa: S101 - only called with one
    revision = status.revision + 1
    again = tuple(a.model_copy(update={"revision": revision}) for a in placement.assignments)
    update = {"revision": revision, "assignments": again}
    status = status.model_copy(
        update={
            "placement": placement.model_copy(update=update),
            "revision": revision,
            "started_time": None,
        }
    )
    fact = Fact.false("Running", Reason.RESTARTING, message)
    event = JobEvent(Reason.RESTARTING, message, warning=True)
    now = with_conditions(status, view, turn.now, [fact])
    return Step(view, now, delete=not_deleting(view.pods), events=(event,))


def _failed(view: JobView, status: TrainingJobStatus, turn: Turn, message: str) -> Step:
    status = status.model_copy(update={"finished_time": whole_second(turn.now), "worker_count": 0})
    facts = [
        Fact.true("Failed", Reason.BACKOFF_LIMIT_EXCEEDED, message),
        Fact.false("Running", Reason.FAILED),
        Fact.false("Admitted", Reason.FAILED),
    ]
    event = JobEvent(Reason.BACKOFF_LIMIT_EXCEEDED, message, warning=True)
    now = with_conditions(status, view, turn.now, facts)
    return Step(view, now, delete=alive(view.pods), events=(event,))


def _what_happened(view: JobView, failed: list[PodView]) -> str:
    if failed:
        first = failed[0]
        return f"{first.role} {first.replica} on {first.node} {how_it_ended(first)}"
    gone = [pod for pod in view.pods if pod.deleting or pod.phase == "Failed"]
    if gone:
        return f"{gone[0].role} {gone[0].replica} on {gone[0].node} was removed"
    return "a pod of the gang is gone"


def how_it_ended(pod: PodView) -> str:
    """How a pod has failed, in the kubelet's words.

    A container that has run may have left words of its own, which are for its user alone.
    """
    end = pod.end
    if end is None:
        return "failed"
    code = f" with exit code {end.exit_code}" if end.exit_code >= 0 else ""
    is_said = not end.reason or end.reason in NEVER_RAN
    why = ": ".join(filter(None, (end.reason, end.message[:LONGEST_WORD] if is_said else "")))
    return f"failed{code} ({why})" if why else f"failed{code}"
