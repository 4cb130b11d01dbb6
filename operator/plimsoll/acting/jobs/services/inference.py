"""The step of an inference job: each replica comes and goes independently."""

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import assert_never

from plimsoll.acting.conditions.conditions import Fact, says, whole_second, with_conditions
from plimsoll.acting.conditions.replicas import ReplicaKey, observed
from plimsoll.acting.jobs.disturbance import disturbed
from plimsoll.acting.jobs.draining import departure, opened, taken_back, with_draining
from plimsoll.acting.jobs.ending import alive, not_deleting
from plimsoll.acting.jobs.refusal import (
    avoided,
    begun_anew,
    bound_nowhere,
    is_refused,
    not_bound,
    not_ready_in_time,
    patience_ends,
    refused_anew,
    tries_again_at,
    with_refusal_reviewed,
)
from plimsoll.acting.jobs.release import released
from plimsoll.acting.jobs.services.handover import handover
from plimsoll.acting.jobs.services.rollout import to_renew
from plimsoll.acting.jobs.services.router_labels import labels_of, relabelled, serving_groups
from plimsoll.acting.jobs.starting import never_started, start_ends
from plimsoll.acting.pods.gpu_request import (
    accelerators_summary,
    assignments,
    needs_of,
    nodes_summary,
    pod_placements,
)
from plimsoll.acting.pods.manifest import Manifest, pod_manifest, selector
from plimsoll.acting.step import JobEvent, Step, Turn
from plimsoll.api.inference_job import (
    InferenceJob,
    InferenceJobStatus,
    InferencePlacement,
)
from plimsoll.api.parts.placement import Assignment
from plimsoll.observe.labels import REPLICA, ROLE
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.planning.actions import Admit, Hold, Migrate, Preempt, Resize
from plimsoll.planning.disruption.backoff import growth_refusal, is_quota_full
from plimsoll.vocabulary.reasons import Reason

RETRY = timedelta(seconds=10)
"""The pause before a pod that ended is created again."""


def inference_step(view: JobView, job: InferenceJob, turn: Turn) -> Step:
    """The writes that move an inference job one turn further."""
    return with_draining(_step(view, job, turn))


def _step(view: JobView, job: InferenceJob, turn: Turn) -> Step:
    job = begun_anew(job)
    if job.spec.suspend:
        return _suspended(view, job, turn)
    action = turn.decided.get(view.name)
    match action:
        case Admit() | Resize() | Migrate():
            return _placed(view, job, turn, action)
        case Preempt() | Hold():
            return _stopped(view, job, turn, action)
        case None:
            return _going_on(view, job, job.status, turn)
        case _:
            assert_never(action)


def _suspended(view: JobView, job: InferenceJob, turn: Turn) -> Step:
    status = job.status
    if status.placement is None and says(status, "Admitted", Reason.SUSPENDED):
        return _without_place(view, status, turn)
    message = "spec.suspend is true; set it to false to queue the job again"
    facts = [
        Fact.false("Admitted", Reason.SUSPENDED, message),
        Fact.false("Running", Reason.SUSPENDED),
    ]
    now = with_conditions(released(status), view, turn.now, facts)
    return _without_place(view, now, turn, JobEvent(Reason.SUSPENDED, message))


def _stopped(view: JobView, job: InferenceJob, turn: Turn, action: Preempt | Hold) -> Step:
    """The job has no place: it lost it, or waits for one."""
    status = job.status
    facts = [Fact.false("Admitted", action.reason, action.message)]
    if says(status, "Running", Reason.RUNNING) or isinstance(action, Preempt):
        facts.append(Fact.false("Running", action.reason))
    if isinstance(action, Preempt):
        status = disturbed(status, job, action, turn.now)
    now = with_conditions(released(status), view, turn.now, facts)
    warning = isinstance(action, Preempt) or action.inadmissible
    event = JobEvent(action.reason, action.message, warning, alive(view.pods))
    events = (event,) if job.status.reason != action.reason else ()
    return _without_place(view, now, turn, *events)


def _without_place(
    view: JobView, status: InferenceJobStatus, turn: Turn, *events: JobEvent
) -> Step:
    """Let all pods go."""
    going = departure(view, view.pods, turn)
    return Step(
        view,
        status,
        gates=going.gates,
        delete=going.delete,
        events=(*events, *going.events),
        again_at=min(going.times, default=None),
    )


def _placed(view: JobView, job: InferenceJob, turn: Turn, action: Admit | Resize | Migrate) -> Step:
    """Record the new placement; replicas that stay where they are keep their revision."""
    status, revision = job.status, job.status.revision + 1
    if isinstance(action, Migrate):
        status = disturbed(status, job, action, turn.now)
    old = status.placement.assignments if status.placement else ()
    stays = {_place(each): each for each in old}
    new = [
        stays.get(_place(each), each).model_copy(update={"size_group": each.size_group})
        for each in assignments(turn.snapshot, action.assignments, revision)
    ]
    places = taken_back(new, view, job, turn)
    status = status.model_copy(
        update={
            "placement": InferencePlacement(
                revision=revision, generation=job.metadata.generation, assignments=places
            ),
            "revision": revision,
            "selector": selector(job, job.spec.roles[0].name),
            "nodes_summary": nodes_summary(places),
            "accelerators_summary": accelerators_summary(places),
            "admitted_time": status.admitted_time or whole_second(turn.now),
            "started_time": None,
        }
    )
    admitted = Fact.true("Admitted", action.reason, action.message)
    status = with_conditions(status, view, turn.now, [admitted])
    kept = {(a.role, a.replica, a.revision) for a in places}
    gone = [p for p in alive(view.pods) if (p.role, p.replica, p.revision) not in kept]
    event = JobEvent(action.reason, action.message, pods=tuple(gone))
    return _going_on(view, job, status, turn, event)


def _place(each: Assignment) -> tuple[str, int, tuple[str, ...], str]:
    return each.role, each.replica, each.nodes, each.accelerator_type


def _going_on(
    view: JobView, job: InferenceJob, status: InferenceJobStatus, turn: Turn, *events: JobEvent
) -> Step:
    """Bring the pods in line with the placement, and the status in line with the pods."""
    status = with_refusal_reviewed(status, view, turn)
    placement = status.placement
    if placement is None:
        return _without_place(view, status, turn, *events)
    names = {role.name for role in job.spec.roles}
    places = [place for place in placement.assignments if place.role in names]
    wanted = {(place.role, place.replica): place for place in places}
    mine = [pod for pod in view.pods if _is_wanted(pod, wanted)]
    unwanted = [pod for pod in view.pods if not _is_wanted(pod, wanted)]
    refused = [pod for pod in mine if is_refused(pod, turn)]
    if refused:
        return _refused(view, status, turn, refused)
    late = never_started(mine, turn)
    if late:
        return not_ready_in_time(view, status, late, turn)
    ended = [pod for pod in mine if pod.is_over]
    serving = serving_groups(job, places, mine)
    create, waiting = _missing(view, job, places, turn)
    # A renewed replica would be refused like the one before, so the old one would be lost, unless
    # it takes the place of another in a quota.
    refusal = growth_refusal(status)
    held = turn.renewal_waits.get(view.name, frozenset())
    stalls = refusal is not None and not is_quota_full(refusal.message)
    renewed = () if stalls else to_renew(job, mine, places, waiting, held)
    old = handover(view, unwanted, places, waiting, turn)
    leaving = [pod for pod in unwanted if pod not in old.keeps]
    going = departure(view, (*leaving, *renewed), turn)
    stays = [pod for pod in mine if pod not in renewed]
    times = [patience_ends(pod, turn) for pod in mine if pod.unschedulable]
    times += [(pod.created or turn.now) + RETRY for pod in ended if not pod.deleting]
    again = tries_again_at(status, turn.snapshot.policy)
    times += [*going.times, *old.times, *filter(None, [again])]
    over = [p for p in stays if p.is_over and (p.created or turn.now) + RETRY <= turn.now]
    return Step(
        view,
        observed(view, job, status, turn, leaving=old.replicas),
        gates=(*opened(stays, turn), *going.gates),
        labels=tuple(relabelled(job, places, stays, serving)),
        delete=(*going.delete, *not_deleting(over)),
        create=tuple(_for_routers(job, wanted, pod, serving) for pod in create),
        events=(*events, *going.events),
        again_at=min((at for at in times if at > turn.now), default=None),
        waits=bool(waiting),
        rests_until=start_ends(mine, turn),
    )


def _for_routers(
    job: InferenceJob,
    places: Mapping[ReplicaKey, Assignment],
    pod: Manifest,
    serving: Mapping[str, Collection[str]],
) -> Manifest:
    """The pod with what routers select and weigh it by."""
    labels = pod["metadata"]["labels"]
    more = labels_of(job, places[labels[ROLE], int(labels[REPLICA])], serving)
    return {**pod, "metadata": {**pod["metadata"], "labels": {**labels, **more}}}


def _is_wanted(pod: PodView, wanted: dict[ReplicaKey, Assignment]) -> bool:
    assignment = wanted.get((pod.role, pod.replica))
    return assignment is not None and assignment.revision == pod.revision


def _missing(
    view: JobView, job: InferenceJob, places: Iterable[Assignment], turn: Turn
) -> tuple[tuple[Manifest, ...], frozenset[ReplicaKey]]:
    """The missing pods of replicas, each replica's only once there is room for all of them.

    Also returns the replicas for which there is no room yet.
    """
    there = {(pod.role, pod.replica, pod.rank) for pod in view.pods}
    create: list[Manifest] = []
    waiting: set[ReplicaKey] = set()
    for place in places:
        placements = pod_placements(turn.snapshot, job, place)
        lacking = [s for s in placements or () if (s.role, s.replica, s.rank) not in there]
        if placements is None or not turn.occupancy.take_all(needs_of(job, lacking)):
            waiting.add((place.role, place.replica))
        else:
            create += [pod_manifest(job, placement) for placement in lacking]
    return tuple(create), frozenset(waiting)


def _refused(view: JobView, status: InferenceJobStatus, turn: Turn, refused: list[PodView]) -> Step:
    """Kube-scheduler does not bind what was planned: plan those replicas again elsewhere."""
    held = bound_nowhere(view, status, refused, turn) or refused_anew(view, status, refused, turn)
    if held is not None:
        return held
    placement = status.placement
    gone = {(pod.role, pod.replica) for pod in refused}
    kept = (
        tuple(a for a in placement.assignments if (a.role, a.replica) not in gone)
        if placement
        else ()
    )
    message = not_bound(refused[0])
    status = status.model_copy(
        update={
            "avoided_nodes": avoided(status.avoided_nodes, {p.wanted_node for p in refused}, turn),
            "nodes_summary": nodes_summary(kept),
            "accelerators_summary": accelerators_summary(kept),
            "placement": placement.model_copy(update={"assignments": kept})
            if kept and placement
            else None,
        }
    )
    fact = Fact.of("Admitted", Reason.NODE_REFUSED, message, holds=bool(kept))
    events = (JobEvent(Reason.NODE_REFUSED, message, warning=True),)
    now = with_conditions(status, view, turn.now, [fact])
    return Step(view, now, delete=not_deleting(refused), events=events)
