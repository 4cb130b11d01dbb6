"""What becomes of an inference job in one turn: each replica comes and goes by itself."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import assert_never

from plimsoll.acting.ending import alive, given_up_at, not_deleting, to_delete
from plimsoll.acting.pod_manifest import (
    Manifest,
    pod_hash,
    pod_manifest,
    selector,
)
from plimsoll.acting.refusal import avoided, is_refused, patience_ends
from plimsoll.acting.release import released
from plimsoll.acting.seating import assignments, needs_of, nodes_summary, seats_of
from plimsoll.acting.step import Note, Step, Turn
from plimsoll.acting.telling import Fact, disturbed, is_told, says, told, whole_second
from plimsoll.api.inference_job import (
    InferenceJob,
    InferenceJobStatus,
    InferencePlacement,
    PoolReplicas,
    RoleStatus,
)
from plimsoll.api.job_parts import Assignment
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.planning.actions import Admit, Hold, Migrate, Preempt, Resize
from plimsoll.planning.jobs import wanted_replicas
from plimsoll.telemetry import Reason

RETRY = timedelta(seconds=10)
"""The pause before a pod that ended is made again."""

ReplicaKey = tuple[str, int]


def inference_step(view: JobView, job: InferenceJob, turn: Turn) -> Step:
    """The writes that bring an inference job one turn further."""
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
        return Step(view, status, delete=not_deleting(view.pods))
    message = "spec.suspend is true; set it to false and the job waits for a place again"
    facts = [
        Fact.false("Admitted", Reason.SUSPENDED, message),
        Fact.false("Running", Reason.SUSPENDED),
    ]
    now = told(released(status), view, turn.now, facts)
    notes = (Note(Reason.SUSPENDED, message),)
    return Step(view, now, delete=not_deleting(view.pods), notes=notes)


def _stopped(view: JobView, job: InferenceJob, turn: Turn, action: Preempt | Hold) -> Step:
    """The job has no place: it lost it, or waits for one."""
    status = job.status
    facts = [Fact.false("Admitted", action.reason, action.message)]
    if says(status, "Running", Reason.RUNNING) or isinstance(action, Preempt):
        facts.append(Fact.false("Running", action.reason))
    if isinstance(action, Preempt):
        status = disturbed(status, turn.now, forced=action.reason is Reason.NODE_LEFT)
    now = told(released(status), view, turn.now, facts)
    warning = isinstance(action, Preempt) or action.hopeless
    note = Note(action.reason, action.message, warning, alive(view.pods))
    notes = (note,) if job.status.reason != action.reason else ()
    return Step(view, now, delete=not_deleting(view.pods), notes=notes)


def _placed(view: JobView, job: InferenceJob, turn: Turn, action: Admit | Resize | Migrate) -> Step:
    """Write down the new places; replicas that stay where they are keep their revision."""
    status, revision = job.status, job.status.revision + 1
    if isinstance(action, Migrate):
        status = disturbed(status, turn.now, forced=action.reason is Reason.NODE_LEFT)
    old = status.placement.assignments if status.placement else ()
    stays = {_place(each): each for each in old}
    places = tuple(
        stays.get(_place(each), each) for each in assignments(turn.snapshot, action.seats, revision)
    )
    status = status.model_copy(
        update={
            "placement": InferencePlacement(revision=revision, assignments=places),
            "revision": revision,
            "selector": selector(job, job.spec.roles[0].name),
            "nodes_summary": nodes_summary(places),
            "accelerators_summary": ", ".join(sorted({a.accelerator_type for a in places})),
            "admitted_time": status.admitted_time or whole_second(turn.now),
            "started_time": None,
        }
    )
    status = told(status, view, turn.now, [Fact.true("Admitted", action.reason, action.message)])
    kept = {(a.role, a.replica, a.revision) for a in places}
    gone = [p for p in alive(view.pods) if (p.role, p.replica, p.revision) not in kept]
    note = Note(action.reason, action.message, pods=tuple(gone))
    return _going_on(view, job, status, turn, note)


def _place(each: Assignment) -> tuple[str, int, tuple[str, ...], str]:
    return each.role, each.replica, each.nodes, each.accelerator_type


def _going_on(
    view: JobView, job: InferenceJob, status: InferenceJobStatus, turn: Turn, *notes: Note
) -> Step:
    """Bring the pods to what the placement says, and the status to what the pods say."""
    placement = status.placement
    if placement is None:
        return Step(view, status, delete=not_deleting(view.pods), notes=notes)
    names = {role.name for role in job.spec.roles}
    places = [place for place in placement.assignments if place.role in names]
    wanted = {(place.role, place.replica): place for place in places}
    mine = [pod for pod in view.pods if _is_wanted(pod, wanted)]
    surplus = [pod for pod in view.pods if not _is_wanted(pod, wanted)]
    refused = [pod for pod in mine if is_refused(pod, turn)]
    if refused:
        return _refused(view, status, turn, refused)
    ended = [pod for pod in mine if pod.is_over]
    outdated = _next_to_renew(job, view.pods, places)
    create, waits = _missing(view, job, places, turn)
    times = [patience_ends(pod, turn) for pod in mine if pod.unschedulable]
    times += [(pod.created or turn.now) + RETRY for pod in ended if not pod.deleting]
    times += given_up_at(surplus, turn)
    over = [p for p in ended if (p.created or turn.now) + RETRY <= turn.now]
    return Step(
        view,
        _observed(view, job, status, turn),
        delete=(*to_delete(surplus, turn), *not_deleting([*over, *outdated])),
        create=create,
        notes=notes,
        again_at=min((at for at in times if at > turn.now), default=None),
        waits=waits,
    )


def _is_wanted(pod: PodView, wanted: dict[ReplicaKey, Assignment]) -> bool:
    assignment = wanted.get((pod.role, pod.replica))
    return assignment is not None and assignment.revision == pod.revision


def _missing(
    view: JobView, job: InferenceJob, places: Iterable[Assignment], turn: Turn
) -> tuple[tuple[Manifest, ...], bool]:
    """Pods of the replicas that lack some, each replica's once there is room for all of them.

    And whether there are replicas for which there is no room yet.
    """
    there = {(pod.role, pod.replica, pod.rank) for pod in view.pods}
    create: list[Manifest] = []
    waits = False
    for place in places:
        seats = seats_of(turn.snapshot, job, place)
        lacking = [s for s in seats or () if (s.role, s.replica, s.rank) not in there]
        if seats is None or not turn.occupancy.take_all(needs_of(job, lacking)):
            waits = True
        else:
            create += [pod_manifest(job, seat, 0) for seat in lacking]
    return tuple(create), waits


def _next_to_renew(
    job: InferenceJob, pods: Sequence[PodView], places: Sequence[Assignment]
) -> list[PodView]:
    """Pods of an old template: of each role one replica's, and only while all others are ready."""
    found: list[PodView] = []
    for role in {place.role for place in places}:
        current = pod_hash(job, role)
        mine = [pod for pod in pods if pod.role == role]
        old = sorted({pod.replica for pod in mine if pod.template_hash != current})
        expected = sum(len(place.nodes) for place in places if place.role == role)
        unready = [pod for pod in mine if not pod.ready or pod.deleting]
        broken = {pod.replica for pod in unready} & set(old)
        if not old or (len(mine) < expected and not broken):
            continue
        if broken:
            found += [pod for pod in mine if pod.replica == min(broken)]
        elif not unready:
            found += [pod for pod in mine if pod.replica == old[0]]
    return found


def _observed(
    view: JobView, job: InferenceJob, status: InferenceJobStatus, turn: Turn
) -> InferenceJobStatus:
    places = status.placement.assignments if status.placement else ()
    ready = _ready(view.pods, places)
    roles = tuple(_role_status(job, role.name, places, ready) for role in job.spec.roles)
    counts = [f"{role.ready}/{role.wanted}" for role in roles]
    status = status.model_copy(
        update={
            "roles": roles,
            "replicas": sum(place.role == job.spec.roles[0].name for place in places),
            "ready_summary": ", ".join(counts),
        }
    )
    facts = _facts(job, status, len(ready), turn.short.get(view.name, ""))
    if status.started_time is None and facts[0].reason is Reason.RUNNING:
        status = status.model_copy(update={"started_time": whole_second(turn.now)})
    return status if is_told(status, facts) else told(status, view, turn.now, facts)


def _facts(job: InferenceJob, status: InferenceJobStatus, ready: int, lack: str) -> list[Fact]:
    """What is to be said of so many ready replicas; `lack`: why not all of them have a place."""
    wanted = sum(wanted_replicas(job, role) for role in job.spec.roles)
    text = f"{ready} of {wanted} replicas are ready" + (f"; one more {lack}" if lack else "")
    if wanted == 0:
        return [Fact.false("Running", Reason.SCALED_TO_ZERO, "no replicas are wanted")]
    if ready >= wanted:
        facts = [Fact.true("Running", Reason.RUNNING, f"{text} on {status.nodes_summary}")]
        degraded = any(c.type == "Degraded" for c in status.conditions)
        return [*facts, Fact.false("Degraded", Reason.RUNNING)] if degraded else facts
    if says(status, "Running", Reason.RUNNING) or any(
        says(status, "Degraded", reason) for reason in (Reason.RUNNING, Reason.REPLICAS_MISSING)
    ):
        up = Fact(type="Running", holds=ready > 0, reason=Reason.REPLICAS_MISSING, message=text)
        return [up, Fact.true("Degraded", Reason.REPLICAS_MISSING, text)]
    return [Fact.false("Running", Reason.STARTING, text)]


def _ready(pods: Iterable[PodView], places: Iterable[Assignment]) -> set[ReplicaKey]:
    """The replicas all of whose pods are ready."""
    ready: dict[ReplicaKey, int] = defaultdict(int)
    for pod in pods:
        ready[pod.role, pod.replica] += pod.ready and not pod.deleting
    return {(a.role, a.replica) for a in places if ready[a.role, a.replica] == len(a.nodes)}


def _role_status(
    job: InferenceJob, name: str, places: Iterable[Assignment], ready: set[ReplicaKey]
) -> RoleStatus:
    mine = [place for place in places if place.role == name]
    kinds = sorted({(place.pool, place.accelerator_type) for place in mine})
    spec = next(role for role in job.spec.roles if role.name == name)
    return RoleStatus(
        name=name,
        wanted=wanted_replicas(job, spec),
        ready=sum((place.role, place.replica) in ready for place in mine),
        pools=tuple(
            PoolReplicas(
                pool=pool,
                accelerator_type=kind,
                wanted=sum((p.pool, p.accelerator_type) == (pool, kind) for p in mine),
                ready=sum(
                    (p.pool, p.accelerator_type) == (pool, kind) and (p.role, p.replica) in ready
                    for p in mine
                ),
            )
            for pool, kind in kinds
        ),
    )


def _refused(view: JobView, status: InferenceJobStatus, turn: Turn, refused: list[PodView]) -> Step:
    """Kube-scheduler does not bind what was planned: plan those replicas again elsewhere."""
    placement = status.placement
    gone = {(pod.role, pod.replica) for pod in refused}
    kept = (
        tuple(a for a in placement.assignments if (a.role, a.replica) not in gone)
        if placement
        else ()
    )
    first = refused[0]
    message = f"kube-scheduler refused {first.name} on {first.wanted_node}: {first.unschedulable}"
    status = status.model_copy(
        update={
            "avoided_nodes": avoided(status.avoided_nodes, {p.wanted_node for p in refused}, turn),
            "placement": placement.model_copy(update={"assignments": kept})
            if kept and placement
            else None,
        }
    )
    fact = Fact(type="Admitted", holds=bool(kept), reason=Reason.NODE_REFUSED, message=message)
    notes = (Note(Reason.NODE_REFUSED, message, warning=True),)
    now = told(status, view, turn.now, [fact])
    return Step(view, now, delete=not_deleting(refused), notes=notes)
