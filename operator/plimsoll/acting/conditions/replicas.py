"""The replicas of a service in its status: how many are wanted, placed and ready, and where."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from plimsoll.acting.conditions.conditions import (
    Fact,
    says,
    says_all,
    whole_second,
    with_conditions,
)
from plimsoll.acting.conditions.stuck_pods import stuck_among
from plimsoll.acting.step import Turn
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import (
    InferenceJob,
    InferenceJobStatus,
    PoolReplicas,
    RoleStatus,
)
from plimsoll.api.parts.conditions import is_true
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.parts.roles import Role
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.planning.disruption.backoff import growth_refusal
from plimsoll.planning.serving.old_templates import replicas_by_role
from plimsoll.planning.serving.replicas import role_status, wanted_replicas
from plimsoll.vocabulary.reasons import Reason

ReplicaKey = tuple[str, int]
_WHY_NOT: Final = {
    Reason.POD_REFUSED: "is refused",
    Reason.PODS_READY_TIMEOUT: "never became ready",
}


def observed(
    view: JobView, job: InferenceJob, status: InferenceJobStatus, turn: Turn, *, leaving: int = 0
) -> InferenceJobStatus:
    """The status with how many replicas there are, where, and how many of them are ready.

    `leaving`: how many more still serve after losing their place.
    """
    places = status.placement.assignments if status.placement else ()
    ready = ready_replicas(view.pods, places)
    renewing = replicas_by_role(view).keys()
    roles = tuple(
        _role_status(job, role, places, ready, one_more=role.name in renewing)
        for role in job.spec.roles
    )
    counts = [f"{role.ready}/{role.wanted}" for role in roles]
    status = status.model_copy(
        update={
            "roles": roles,
            "replicas": sum(place.role == job.spec.roles[0].name for place in places),
            "ready_summary": ", ".join(counts),
            "cost_per_hour": _cost_per_hour(job, places, turn.snapshot.pools),
        }
    )
    refusal = growth_refusal(status)
    refused = f"{_WHY_NOT[Reason(refusal.reason)]}: {refusal.message}" if refusal else ""
    short = turn.short.get(view.name, "")
    # One that is being tried again may be over, while what the plan lacks is known.
    is_old = refusal is not None and refusal.status != "False"
    lack, stuck = (short if is_old and short else refused or short), _stuck(view, places)
    facts = _facts(status, len(ready), lack, stuck, leaving)
    if status.started_time is None and facts[0].reason is Reason.RUNNING:
        status = status.model_copy(
            update={
                "started_time": whole_second(turn.now),
                "refusals": 0 if refusal is None else status.refusals,
            }
        )
    return status if says_all(status, facts) else with_conditions(status, view, turn.now, facts)


def _stuck(view: JobView, places: Iterable[Assignment]) -> str:
    """What the kubelet cannot start, in words that do not change while it tries."""
    mine = {(each.role, each.replica) for each in places}
    stuck = stuck_among(pod for pod in view.pods if (pod.role, pod.replica) in mine)
    return f"{stuck.what} (kubectl describe pod {stuck.pod.name} says why)" if stuck else ""


def _facts(
    status: InferenceJobStatus, ready: int, lack: str, stuck: str, leaving: int
) -> list[Fact]:
    """The facts for this many ready replicas.

    `lack`: why not all of them have a place; `stuck`: what keeps one that has one from starting.
    """
    wanted = sum(role.wanted for role in status.roles)
    text = f"{min(ready, wanted)} of {wanted} replicas are ready"
    text += f"; one more {lack}" if lack else ""
    text += f"; {stuck}" if stuck else ""
    if leaving:
        text += f"; until they are, {leaving} of the replicas that they replace keep serving"
    if wanted == 0:
        return [Fact.false("Running", Reason.SCALED_TO_ZERO, "no replicas are wanted")]
    if ready >= wanted:
        fact = Fact.true("Running", Reason.RUNNING, f"{text} on {status.nodes_summary}")
        return [fact, *_not_degraded(status)]
    if not is_true(status.conditions, "Running") and not any(
        says(status, "Degraded", reason) for reason in (Reason.RUNNING, Reason.REPLICAS_MISSING)
    ):
        return [Fact.false("Running", Reason.STARTING, text)]
    change = _change_under_way(status)
    if change is not None and ready + leaving > 0 and not lack:
        return [Fact.true("Running", change, text), *_not_degraded(status)]
    up = Fact.of("Running", Reason.REPLICAS_MISSING, text, holds=ready + leaving > 0)
    return [up, Fact.true("Degraded", Reason.REPLICAS_MISSING, text)]


def _not_degraded(status: InferenceJobStatus) -> list[Fact]:
    """That nothing is missing, if the status reported otherwise before."""
    degraded = any(c.type == "Degraded" for c in status.conditions)
    return [Fact.false("Degraded", Reason.RUNNING)] if degraded else []


def _change_under_way(status: InferenceJobStatus) -> Reason | None:
    """Why the plan changed the service, until the change is complete."""
    if status.started_time is not None:
        return None
    wished = (Reason.RESIZED, Reason.MIGRATED)
    return next((reason for reason in wished if says(status, "Admitted", reason)), None)


def ready_replicas(pods: Iterable[PodView], places: Iterable[Assignment]) -> set[ReplicaKey]:
    """The replicas whose pods are all ready."""
    ready: dict[ReplicaKey, int] = defaultdict(int)
    for pod in pods:
        ready[pod.role, pod.replica] += pod.ready and not pod.deleting
    return {(a.role, a.replica) for a in places if ready[a.role, a.replica] == len(a.nodes)}


def _role_status(
    job: InferenceJob,
    spec: Role,
    places: Iterable[Assignment],
    ready: set[ReplicaKey],
    *,
    one_more: bool,
) -> RoleStatus:
    """The status of a role; `one_more`: it may have a replica beyond those that it wants."""
    mine = [place for place in places if place.role == spec.name]
    kinds = sorted({(place.pool, place.accelerator_type) for place in mine})
    known = role_status(job, spec)
    return RoleStatus(
        name=spec.name,
        loads=known.loads if known else (),
        measured=known.measured if known else (),
        wanted=wanted_replicas(job, spec, mine[:-1] if one_more else mine),
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


def _cost_per_hour(
    job: InferenceJob, places: Iterable[Assignment], pools: Iterable[GPUPool]
) -> Decimal | None:
    """The hourly cost of the job's GPUs; None if none of its pools has a price."""
    price = {pool.metadata.name: pool.spec.price_per_gpu_hour for pool in pools}
    gpus = {role.name: role.gpus_per_replica for role in job.spec.roles}
    costs = [price[p.pool] * gpus[p.role] for p in places if p.role in gpus and price.get(p.pool)]
    return sum(costs, Decimal(0)) if costs else None
