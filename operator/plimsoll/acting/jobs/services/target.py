"""The step of a job that targets another controller's workload: its count and its pods' nodes.

The planned count is written to the job's status before the workload is scaled. Pods behind our
scheduling gate get their node; everything else about them is left to their own controller.
"""

from dataclasses import replace
from datetime import datetime
from typing import assert_never

from plimsoll.acting.conditions.conditions import (
    Fact,
    says,
    says_all,
    whole_second,
    with_conditions,
)
from plimsoll.acting.conditions.replicas import observed
from plimsoll.acting.jobs.disturbance import disturbed
from plimsoll.acting.jobs.ending import alive, not_deleting
from plimsoll.acting.jobs.refusal import avoided, is_refused, not_bound, patience_ends
from plimsoll.acting.jobs.release import released
from plimsoll.acting.jobs.services.target_count import (
    ABLE_TO_SCALE,
    SCALE_PAUSE,
    contest_ends,
    count_of,
    is_paused,
    with_ability,
    with_count,
)
from plimsoll.acting.pods.gpu_request import accelerators_summary, assignments, nodes_summary
from plimsoll.acting.pods.occupancy import needs_of_pod
from plimsoll.acting.step import JobEvent, SentPod, Step, TargetWrites, Turn
from plimsoll.api.inference_job import InferenceJob, InferenceJobStatus, InferencePlacement
from plimsoll.observe.snapshot import JobView, PodView, TargetView
from plimsoll.observe.targets.places import UNPLACED, ordinal_of, target_places
from plimsoll.planning.actions import Admit, Hold, Migrate, Preempt, Resize
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.model import Assignments


def target_step(view: JobView, job: InferenceJob, turn: Turn) -> Step:
    """The writes that move a job with a target one turn further."""
    target = view.target
    if target is None:  # not read yet
        return Step(view, job.status)
    if job.spec.suspend:
        return _suspended(view, job, target, turn)
    action = turn.decided.get(view.name)
    match action:
        case Admit() | Resize() | Migrate():
            return _placed(view, job, target, turn, action)
        case Preempt():
            return _preempted(view, job, target, turn, action)
        case Hold():
            return _held(view, job, target, turn, action)
        case None:
            return _going_on(view, job, target, turn)
        case _:
            assert_never(action)


def target_refused(view: JobView, message: str, turn: Turn) -> Step:
    """The API server refuses a write to the target or its pods: leave it alone for a while."""
    fact = Fact.false(ABLE_TO_SCALE, Reason.FAILED_UPDATE_SCALE, message)
    status = with_conditions(view.resource.status, view, turn.now, [fact])
    return Step(view, status, events=(JobEvent(fact.reason, message, warning=True),))


def _suspended(view: JobView, job: InferenceJob, target: TargetView, turn: Turn) -> Step:
    """The workload is scaled to 0 until the job resumes."""
    status, events = job.status, tuple[JobEvent, ...]()
    if status.placement is not None or not says(status, "Admitted", Reason.SUSPENDED):
        message = "spec.suspend is true: the target is scaled to 0 until it is false"
        facts = [Fact.false("Admitted", Reason.SUSPENDED, message)]
        facts.append(Fact.false("Running", Reason.SUSPENDED))
        status = with_conditions(released(status), view, turn.now, facts)
        events = (JobEvent(Reason.SUSPENDED, message),)
    return _scaled(Step(view, status, events=events), target, 0, turn)


def _preempted(
    view: JobView, job: InferenceJob, target: TargetView, turn: Turn, action: Preempt
) -> Step:
    status = disturbed(job.status, job, action, turn.now)
    facts = [
        Fact.false("Admitted", action.reason, action.message),
        Fact.false("Running", action.reason),
    ]
    status = with_conditions(released(status), view, turn.now, facts)
    event = JobEvent(action.reason, action.message, warning=True, pods=alive(view.pods))
    return _scaled(Step(view, status, events=(event,)), target, 0, turn)


def _held(view: JobView, job: InferenceJob, target: TargetView, turn: Turn, hold: Hold) -> Step:
    """The job waits. Its workload keeps what it has, unless it is still to be scaled to 0."""
    status = job.status
    facts = [Fact.false("Admitted", hold.reason, hold.message)]
    if says(status, "Running", Reason.RUNNING):
        facts.append(Fact.false("Running", hold.reason))
    if target.problem is not None:
        facts.append(Fact.false(ABLE_TO_SCALE, hold.reason, hold.message))
    now = status
    if not says_all(status, facts):
        now = with_conditions(released(status), view, turn.now, facts)
    event = JobEvent(hold.reason, hold.message, warning=hold.inadmissible)
    step = Step(view, now, events=(event,) if status.reason != hold.reason else ())
    return _with_end_of_replicas(step, target, turn)


def _placed(
    view: JobView,
    job: InferenceJob,
    target: TargetView,
    turn: Turn,
    action: Admit | Resize | Migrate,
) -> Step:
    """Record the new placement, and which pod has which place."""
    status = job.status
    if isinstance(action, Migrate):
        status = disturbed(status, job, action, turn.now)
    view = _with_pods_placed(view, status, action.assignments, turn)
    status = _with_places(view, status, turn)
    admitted = Fact.true("Admitted", action.reason, action.message)
    status = with_conditions(status, view, turn.now, [admitted])
    leaving = tuple(pod for pod in alive(view.pods) if pod.replica == UNPLACED and not pod.gated)
    moved = _moved(view, target, leaving, len(action.assignments)) if target.gated else ()
    event = JobEvent(action.reason, action.message, pods=leaving)
    step = Step(view, status, delete=moved, events=(event,))
    return _acted(step, job, target, len(action.assignments), turn)


def _with_pods_placed(
    view: JobView, status: InferenceJobStatus, planned: Assignments, turn: Turn
) -> JobView:
    """The job with its pods assigned to the plan's places; unchanged places keep their revision."""
    old = status.placement.assignments if status.placement else ()
    stays = {(each.nodes, each.accelerator_type): each.revision for each in old}
    revision = status.revision + 1
    places = tuple(
        each.model_copy(
            update={"revision": stays.get((each.nodes, each.accelerator_type), revision)}
        )
        for each in assignments(turn.snapshot, planned, revision)
    )
    found = target_places(
        places, view.pods, limit=len(places), keeps=lambda _: True, locate=lambda _: None
    )
    generation = view.resource.metadata.generation
    placement = InferencePlacement(
        revision=revision, generation=generation, assignments=found.places
    )
    new = status.model_copy(update={"placement": placement, "revision": revision})
    resource = view.resource.model_copy(update={"status": new})
    return replace(view, resource=resource, pods=found.pods, written=view.status_written)


def _with_places(view: JobView, status: InferenceJobStatus, turn: Turn) -> InferenceJobStatus:
    """The status with the places of the view, and their summaries."""
    assert view.inference is not None  # noqa: S101 - it is the same job
    now, target = view.inference.status, view.target
    places = now.placement.assignments if now.placement else ()
    return status.model_copy(
        update={
            "placement": now.placement,
            "revision": now.revision,
            "selector": target.selector if target else "",
            "nodes_summary": nodes_summary(places),
            "accelerators_summary": accelerators_summary(places),
            "admitted_time": status.admitted_time or whole_second(turn.now),
        }
    )


def _moved(
    view: JobView, target: TargetView, leaving: tuple[PodView, ...], wanted: int
) -> tuple[PodView, ...]:
    """The pods that have lost their place and that their controller will not remove itself.

    A ReplicaSet removes pods without a node first.
    """
    if target.ordered:
        return tuple(pod for pod in leaving if (ordinal_of(pod.labels) or 0) < wanted)
    waiting = sum(pod.gated and pod.replica == UNPLACED for pod in alive(view.pods))
    return leaving[max(0, target.replicas - wanted - waiting) :]


def _going_on(view: JobView, job: InferenceJob, target: TargetView, turn: Turn) -> Step:
    """Bring the workload in line with the decision, and the status in line with the pods."""
    status = job.status
    if status.placement is None:
        return _with_end_of_replicas(Step(view, status), target, turn)
    refused = [pod for pod in view.pods if target.gated and is_refused(pod, turn)]
    if refused:
        return _refused(view, job, refused, turn)
    if not says(status, "Admitted", Reason.ADMITTED) and status.admitted_time is None:
        count = len(status.placement.assignments)
        message = f"{target.reference} already runs {count} replicas"
        admitted = Fact.true("Admitted", Reason.ADMITTED, message)
        status = with_conditions(status, view, turn.now, [admitted])
    step = Step(view, _with_places(view, status, turn))
    return _acted(step, job, target, count_of(job, target), turn)


def _acted(step: Step, job: InferenceJob, target: TargetView, count: int, turn: Turn) -> Step:
    """The step that also sets the workload's count, gives gated pods nodes, and reports both."""
    assert isinstance(step.status, InferenceJobStatus)  # noqa: S101 - it is a service's
    now = job.model_copy(update={"status": step.status})
    step = replace(step, status=observed(step.job, now, step.status, turn))
    step = _scaled(step, target, count, turn)
    placed, waits = _given_nodes(step.job, step.status, turn)
    writes = step.target or TargetWrites(target.reference)
    writes = replace(writes, placed=placed)
    times = [patience_ends(p, turn) for p in step.job.pods if p.unschedulable and p.wanted_node]
    times += [step.again_at] if step.again_at else []
    return replace(
        step,
        target=writes or None,
        waits=waits,
        again_at=min((at for at in times if at > turn.now), default=None),
    )


def _with_end_of_replicas(step: Step, target: TargetView, turn: Turn) -> Step:
    """The step of a job without a place, which scales the workload to 0 if that is still due.

    That may have failed, or waited, when the job lost its place. What others do with the workload
    afterwards is theirs.
    """
    status = step.status
    assert isinstance(status, InferenceJobStatus)  # noqa: S101 - it is a service's
    said = status.target
    is_due = said is not None and said.replicas == 0 and not said.reached
    return _scaled(step, target, 0, turn) if is_due else step


def _scaled(step: Step, target: TargetView, count: int, turn: Turn) -> Step:
    """The step that also sets the workload's count, unless it must be left alone."""
    status = step.status
    assert isinstance(status, InferenceJobStatus)  # noqa: S101 - it is a service's
    if target.problem is not None:
        return step
    status = with_count(status, count, target, turn.now)
    status, events = with_ability(status, step.job, target, turn.now)
    step = replace(step, status=status, events=(*step.events, *events))
    held_until = _held_until(status, turn.now)
    if target.replicas == count or held_until is not None:
        return replace(step, again_at=held_until)
    unplaced = (p for p in alive(step.job.pods) if p.replica == UNPLACED and not target.ordered)
    first = tuple(unplaced) if count < target.replicas else ()
    return replace(step, target=TargetWrites(target.reference, count, target.replicas, first))


def _held_until(status: InferenceJobStatus, now: datetime) -> datetime | None:
    """Until when the workload's count is left alone; None if it is not."""
    ends = contest_ends(status, now)
    if ends is not None:
        return ends
    return now + SCALE_PAUSE if is_paused(status, now) else None


def _given_nodes(view: JobView, status: object, turn: Turn) -> tuple[tuple[SentPod, ...], bool]:
    """The gated pods that may go to their nodes now, and whether others must still wait."""
    assert isinstance(status, InferenceJobStatus)  # noqa: S101 - it is a service's
    places = status.placement.assignments if status.placement else ()
    by_number = {place.replica: place for place in places}
    found: list[SentPod] = []
    waits = False
    for pod in not_deleting(view.pods):
        place = by_number.get(pod.replica)
        if not pod.gated or place is None or pod.rank >= len(place.nodes):
            continue
        node = place.nodes[pod.rank]
        if turn.occupancy.take_all([needs_of_pod(pod, node)]):
            found.append(SentPod(pod, node))
        else:
            waits = True
    return tuple(found), waits


def _refused(view: JobView, job: InferenceJob, refused: list[PodView], turn: Turn) -> Step:
    """Kube-scheduler does not bind a pod on its node: plan those replicas elsewhere."""
    status, gone = job.status, {pod.replica for pod in refused}
    assert status.placement is not None  # noqa: S101 - only called with one
    kept = tuple(a for a in status.placement.assignments if a.replica not in gone)
    message = not_bound(refused[0])
    nodes = {pod.wanted_node for pod in refused if pod.wanted_node}
    status = status.model_copy(
        update={
            "avoided_nodes": avoided(status.avoided_nodes, nodes, turn),
            "placement": status.placement.model_copy(update={"assignments": kept}),
        }
    )
    fact = Fact.of("Admitted", Reason.NODE_REFUSED, message, holds=bool(kept))
    events = (JobEvent(Reason.NODE_REFUSED, message, warning=True),)
    now = with_conditions(status, view, turn.now, [fact])
    return Step(view, now, delete=not_deleting(refused), events=events)
