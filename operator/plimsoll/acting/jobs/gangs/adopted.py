"""The step of a job that stands for another controller's workload: hold it, place it, resume it.

That controller makes the pods, retries them and says when the work is done. A job without a place
has its workload suspended. Once the job has a place and there is room, the workload is resumed, and
its pods, which wait behind our scheduling gate, are sent to their nodes: all of a gang at once. A
gang moves by being suspended and resumed; it changes its size so, too, unless its controller lets
it do that while it runs.

The status is written before the workload follows from it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from plimsoll.acting.conditions.conditions import Fact, says, whole_second, with_conditions
from plimsoll.acting.jobs.ending import not_deleting
from plimsoll.acting.jobs.gangs.adopted_failures import failed_pod, with_failure
from plimsoll.acting.jobs.gangs.gang_start import (
    awaited_in_place,
    node_refused,
    started,
    starting,
    waits_for_room,
    with_room,
)
from plimsoll.acting.jobs.refusal import is_refused, pods_refused
from plimsoll.acting.pods.gpu_request import needs_of, pod_placements
from plimsoll.acting.pods.occupancy import needs_of_pod
from plimsoll.acting.step import JobEvent, Refusal, SentPod, Step, Turn, WorkloadWrites
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus, TrainingPlacement
from plimsoll.observe.adoption.workload_view import Outcome, WorkloadView
from plimsoll.observe.labels import (
    JOB_KIND,
    JOB_NAME,
    JOB_UID,
    RANK,
    REPLICA,
    REVISION,
    ROLE,
)
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.observe.whole_numbers import whole_number
from plimsoll.planning.cluster.leaving import leaving_pods
from plimsoll.planning.disruption.backoff import terms_of
from plimsoll.vocabulary.reasons import Reason


def without_place(view: JobView, status: TrainingJobStatus, *events: JobEvent) -> Step:
    """Suspend the workload of a job without a place; its controller removes the pods."""
    return Step(view, status, events=events, workload=_suspension(view))


def with_pods_kept(step: Step) -> Step:
    """The step; of an adopted workload no pod is deleted, as its controller would replace it.

    It is suspended instead.
    """
    job = step.job.training
    if job is None or job.spec.workload_ref is None or not (step.delete or step.gates):
        return step
    workload = _suspension(step.job) if step.delete else step.workload
    return replace(step, delete=(), gates=(), workload=workload)


def ended(view: JobView, status: TrainingJobStatus, turn: Turn, outcome: Outcome) -> Step:
    """The workload has completed or failed, and so has the job, with or without a place."""
    reason = Reason.FAILED if outcome.failed else Reason.COMPLETED
    kind = "Failed" if outcome.failed else "Complete"
    update = {"finished_time": whole_second(turn.now), "worker_count": 0}
    facts = [
        Fact.true(kind, reason, outcome.message),
        Fact.false("Running", reason),
        Fact.false("Admitted", reason),
    ]
    now = with_conditions(status.model_copy(update=update), view, turn.now, facts)
    return Step(view, now, events=(JobEvent(reason, outcome.message, warning=outcome.failed),))


def adopted_goes_on(
    view: JobView, job: TrainingJob, status: TrainingJobStatus, turn: Turn, *events: JobEvent
) -> Step:
    """Bring the workload in line with the placement, and the status in line with its pods."""
    workload, placement = view.workload, status.placement
    if workload is None or placement is None:
        return Step(view, status, events=events)
    status = _with_failures(status, workload)
    if _has_strayed(view, status, placement):
        return Step(view, status, events=events, workload=_suspension(view))
    if workload.suspended and workload.can_stop:
        return _resumed(view, job, status, turn, events)
    return _runs(view, job, status, turn, events)


def _has_strayed(view: JobView, status: TrainingJobStatus, placement: TrainingPlacement) -> bool:
    """Whether any of its pods was sent to a place that the gang no longer has."""
    revisions = {each.replica: each.revision for each in placement.assignments}
    goes = {pod.uid for pod in leaving_pods(view, status)}
    placed = (pod for pod in _there(view) if not pod.gated and pod.uid not in goes)
    return any(pod.revision != revisions.get(pod.replica) for pod in placed)


def _runs(
    view: JobView,
    job: TrainingJob,
    status: TrainingJobStatus,
    turn: Turn,
    events: tuple[JobEvent, ...],
) -> Step:
    """Send the pods that the workload makes to their nodes, and see how they fare."""
    workload, placement, there = view.workload, status.placement, _there(view)
    assert workload is not None  # noqa: S101 - only called with both
    assert placement is not None  # noqa: S101
    size, leaving = _size(job, placement), leaving_pods(view, status)
    if size is not None and (leaving or size != workload.parallelism):
        writes = _resizing(view, size, leaving)
        return Step(view, status, events=events, workload=writes)
    late = _has_made_too_few(view, status, turn)
    if late is not None:
        return pods_refused(view, late, turn)
    placed, waits = _sent(view, status, turn)
    if placed:
        labelled = tuple(_labelled(job, pod, place) for pod, place in placed)
        writes = WorkloadWrites(workload, placed=labelled)
        return Step(view, status, events=events, workload=writes, waits=waits)
    step = _observed(view, there, status, turn, events)
    if status.started_time is None and step.rests_until is None:
        step = replace(step, rests_until=_pods_are_due(workload, turn))
    return replace(step, waits=step.waits or waits)


def _has_made_too_few(view: JobView, status: TrainingJobStatus, turn: Turn) -> Refusal | None:
    """Why a gang cannot start: not all its pods are there in time; None if it may.

    A quota or a webhook may forbid its controller to make them, and those without GPUs may find no
    node.
    """
    workload, placement, there = view.workload, status.placement, _there(view)
    assert workload is not None  # noqa: S101 - only called with both
    assert placement is not None  # noqa: S101
    due, until = min(workload.due, placement.workers), _pods_are_due(workload, turn)
    if status.started_time is not None or until is None or turn.now < until:
        return None
    kind, name = workload.reference.kind.lower(), workload.reference.name
    said = ""
    if len(there) < due:
        said = (
            f"{workload.reference} has made {len(there)} of {due} pods in time: kubectl describe"
            f" {kind} {name} says what is in their way"
        )
    elif view.beside < workload.beside:
        said = (
            f"{view.beside} of the {workload.beside} pods of {workload.reference} without GPUs have"
            " found a node in time, and the others wait for them: make room for them, or lower"
            " their requests"
        )
    return Refusal(said, reason=Reason.PODS_READY_TIMEOUT) if said else None


def _pods_are_due(workload: WorkloadView, turn: Turn) -> datetime | None:
    """By when the controller must have made its pods; None: that is unknown, or has no limit."""
    limit = terms_of(turn.snapshot.policy).timeout
    return workload.since + limit if workload.since is not None and limit else None


def _there(view: JobView) -> list[PodView]:
    """The workload's pods that have neither ended nor are about to."""
    return [pod for pod in not_deleting(view.pods) if not pod.is_over]


def _suspension(view: JobView) -> WorkloadWrites | None:
    """Have the workload run no pods; None if it already has been told so, has ended, or cannot."""
    workload = view.workload
    if workload is None or workload.suspended or workload.outcome is not None:
        return None
    if not workload.can_stop:
        return None
    return WorkloadWrites(workload, suspend=True)


def _resizing(view: JobView, size: int, leaving: Sequence[PodView]) -> WorkloadWrites | None:
    """Have a workload that runs be of another size; if it does not follow, it is resumed so.

    Of pods that wait for a place, as many go as are too many besides those that leave theirs.
    """
    workload = view.workload
    assert workload is not None  # noqa: S101 - only called with one
    if workload.sizing is not None and workload.sizing.while_suspended:
        return _suspension(view)
    waiting = [pod.name for pod in _there(view) if pod.gated]
    too_many = max(0, workload.parallelism - size - len(leaving))
    names = (*(pod.name for pod in leaving), *waiting[:too_many])
    return WorkloadWrites(workload, size=size, leaving=names)


def _resumed(
    view: JobView,
    job: TrainingJob,
    status: TrainingJobStatus,
    turn: Turn,
    events: tuple[JobEvent, ...],
) -> Step:
    """Let the workload make its pods, once the old ones are gone and there is room for the new."""
    workload, placement = view.workload, status.placement
    assert workload is not None  # noqa: S101 - only called with both
    assert placement is not None  # noqa: S101
    if not (workload.at_rest and workload.asks) or any(not pod.is_over for pod in view.pods):
        return Step(view, status, events=events)
    found = [pod_placements(turn.snapshot, job, each) for each in placement.assignments]
    placements = [pod for each in found if each is not None for pod in each]
    if len(placements) < len(found):
        return Step(view, status, events=events, waits=True)
    if not turn.occupancy.take_all(needs_of(job, placements)):
        return waits_for_room(view, job, status, turn, events)
    size = _size(job, placement)
    writes = WorkloadWrites(workload, suspend=False, size=size)
    return Step(view, with_room(view, status, turn), events=events, workload=writes)


def _size(job: TrainingJob, placement: TrainingPlacement) -> int | None:
    """How many pods the workload is to run at once; None if that is its user's to say."""
    workers = job.spec.workers
    return placement.workers if workers.min < workers.most else None


def _sent(
    view: JobView, status: TrainingJobStatus, turn: Turn
) -> tuple[list[tuple[PodView, Assignment]], bool]:
    """The pods to send to their nodes now, and whether some must wait for room there.

    A gang that has not started starts as a whole, once its pods without GPUs have found nodes:
    without them it would keep its GPUs idle. Later, each pod that replaces another goes where that
    was.
    """
    workload, placement, there = view.workload, status.placement, _there(view)
    assert workload is not None  # noqa: S101 - only called with both
    assert placement is not None  # noqa: S101
    pairs = [*_pairs(there, placement, workload.numbered_by)]
    if not pairs:
        return [], False
    if status.started_time is None:
        # The others are still to be made, or to find their nodes.
        due = min(workload.due, placement.workers)
        if sum(not pod.gated for pod in there) + len(pairs) < due:
            return [], False
        if view.beside < workload.beside:
            return [], False
        fits = turn.occupancy.take_all([needs_of_pod(pod, at.nodes[0]) for pod, at in pairs])
        return (pairs, False) if fits else ([], True)
    take = turn.occupancy.take_all
    sent = [(pod, at) for pod, at in pairs if take([needs_of_pod(pod, at.nodes[0])])]
    return sent, len(sent) < len(pairs)


def _pairs(
    there: Sequence[PodView], placement: TrainingPlacement, label: str
) -> Iterator[tuple[PodView, Assignment]]:
    """The pods that wait behind our gate, each with a place that is free: that of its number."""
    taken = {pod.replica for pod in there if not pod.gated}
    free = {each.replica: each for each in placement.assignments if each.replica not in taken}
    for pod in sorted((pod for pod in there if pod.gated), key=lambda pod: in_order(pod.name)):
        own = whole_number(pod.labels.get(label, ""))
        number = own if own in free else min(free, default=None)
        if number is None:
            return
        yield pod, free.pop(number)


def in_order(name: str) -> list[tuple[int, str]]:
    """A key that sorts names as people do: `worker-2` before `worker-10`."""
    parts = re.findall(r"\d+|\D+", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _labelled(job: TrainingJob, pod: PodView, place: Assignment) -> SentPod:
    """The pod with its node, and the labels by which it is known as the job's."""
    labels = {
        JOB_NAME: job.metadata.name,
        JOB_KIND: job.kind,
        JOB_UID: job.metadata.uid,
        ROLE: place.role,
        REPLICA: str(place.replica),
        RANK: "0",
        REVISION: str(place.revision),
    }
    return SentPod(pod, place.nodes[0], labels)


def _observed(
    view: JobView,
    there: Sequence[PodView],
    status: TrainingJobStatus,
    turn: Turn,
    events: tuple[JobEvent, ...],
) -> Step:
    workload, placement = view.workload, status.placement
    assert workload is not None  # noqa: S101 - only called with both
    assert placement is not None  # noqa: S101
    placed = [pod for pod in there if not pod.gated]
    refused = [pod for pod in placed if is_refused(pod, turn)]
    if refused and not view.stays:
        return node_refused(view, status, turn, refused)
    due = min(workload.due, placement.workers)
    if placed and len(placed) >= due and all(pod.ready for pod in placed):
        if status.started_time is not None and not _is_to_run_again(status):
            return Step(view, status, events=events)
        return started(view, status, turn, events, count=len(placed))
    failed = failed_pod(view, placement)
    if failed is not None and sum(pod.phase == "Running" for pod in placed) < due:
        status, told = with_failure(view, failed, status, turn)
        events = (*events, *told)
    if status.started_time is not None:
        return Step(view, status, events=events)
    if view.stays:
        return awaited_in_place(view, placed, status, turn, events)
    return starting(view, placed, status, turn, events)


def _is_to_run_again(status: TrainingJobStatus) -> bool:
    """Whether it is still to be said that all run, as they were to be more or fewer, or failed."""
    return any(says(status, "Running", each) for each in (Reason.RESIZED, Reason.RESTARTING))


def _with_failures(status: TrainingJobStatus, workload: WorkloadView) -> TrainingJobStatus:
    """The status with how many pods the workload's controller has seen fail."""
    if status.restarts == workload.failures:
        return status
    return status.model_copy(update={"restarts": workload.failures})
