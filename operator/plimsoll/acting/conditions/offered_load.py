"""The load of a service in its status: what each role should carry, and condition `LoadKnown`.

What is wanted is written down before anything is done about it; plans are made from what is
written. An unknown load changes nothing.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from plimsoll.acting.conditions.backlog import backlog_facts, with_backlog
from plimsoll.acting.conditions.conditions import Fact, reported
from plimsoll.acting.step import Step, Turn
from plimsoll.api.inference_job import (
    BucketLoad,
    InferenceJob,
    InferenceJobStatus,
    LoadStatus,
    MeasuredCapacity,
    RoleStatus,
)
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.conditions import condition
from plimsoll.api.parts.roles import Role
from plimsoll.observe.measured.demand import JobDemand, RoleDemand
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.problem.build import wants_place
from plimsoll.planning.serving.autoscaling import scaled_loads, shown
from plimsoll.planning.serving.grouping import grouped
from plimsoll.planning.serving.replicas import is_measured
from plimsoll.planning.serving.size_groups import placed_in_groups
from plimsoll.vocabulary.reasons import Reason

LOAD_KNOWN = "LoadKnown"
FIRST_METRICS = timedelta(minutes=5)
"""How long a new service may take until its load is measured, before a warning is raised."""
NO_PROMETHEUS = (
    "Prometheus is not configured, so the load is unknown and the replicas stay as they are: set"
    " prometheus.url in the chart"
)
_TENTH = Decimal("0.1")


def with_load(step: Step, turn: Turn) -> Step:
    """The step, which also reports what is known about the load if that is new."""
    before = step.status
    if not isinstance(before, InferenceJobStatus):
        return step
    after = _with_load(step, before, turn)
    step = step if after.status == before else after
    until = _awaits_until(step.status)
    return step if until is None else replace(step, again_at=min(until, step.again_at or until))


def _with_load(step: Step, before: InferenceJobStatus, turn: Turn) -> Step:
    view, job = step.job, step.job.inference
    if job is None or not wants_place(view):
        return step
    status = before
    if view.demand is not None:
        known = _in_groups(job, _with_demand(job, before, view.demand, turn))
        status = with_backlog(known, job, view, turn)
    facts = (*_load_facts(view, before, turn), *backlog_facts(view, status, turn))
    return reported(replace(step, status=status), facts, turn.now)


def _load_facts(view: JobView, status: InferenceJobStatus, turn: Turn) -> tuple[Fact, ...]:
    """Whether the load is known; an event for each reason why it is not."""
    job, demand = view.inference, view.demand
    if demand is None:
        asks_in_vain = job is not None and is_measured(job) and not turn.asks_for_loads
        silent = Fact.false(LOAD_KNOWN, Reason.PROMETHEUS_NOT_SET, NO_PROMETHEUS)
        return (silent,) if asks_in_vain else ()
    if not demand.problem:
        return (Fact.true(LOAD_KNOWN, Reason.LOAD_MEASURED),)
    if demand.awaits_metrics and _is_new(status, turn):
        return (Fact.unknown(LOAD_KNOWN, Reason.METRICS_AWAITED, demand.problem),)
    missed = Fact.false(LOAD_KNOWN, Reason.LOAD_UNKNOWN, demand.problem)
    return (missed.with_event(warning=True),)


def _is_new(status: InferenceJobStatus, turn: Turn) -> bool:
    """Whether the load has never been known, and that only for a short time."""
    until = _awaits_until(status)
    return condition(status.conditions, LOAD_KNOWN) is None or (
        until is not None and turn.now < until
    )


def _awaits_until(status: JobStatus) -> datetime | None:
    """Until when missing first metrics raise no warning; None if they are not awaited."""
    found = condition(status.conditions, LOAD_KNOWN)
    awaits = found is not None and found.reason == Reason.METRICS_AWAITED
    return found.last_transition_time + FIRST_METRICS if found is not None and awaits else None


def without_numbers(status: InferenceJobStatus) -> InferenceJobStatus:
    """The status without the load figures that are only informative and decide nothing."""
    silent = {"observed": None, "forecast": None, "quantile": None, "unserved": None}
    roles = tuple(
        role.model_copy(
            update={"loads": tuple(load.model_copy(update=silent) for load in role.loads)}
        )
        for role in status.roles
    )
    quiet = {"roles": roles, "load": None, "slo_attainment_percent": None, "backlog": None}
    return status.model_copy(update=quiet)


def _with_demand(
    job: InferenceJob, status: InferenceJobStatus, demand: JobDemand, turn: Turn
) -> InferenceJobStatus:
    roles = tuple(_role(job, each, status, demand, turn) for each in job.spec.roles)
    return status.model_copy(
        update={
            "roles": roles,
            "load": _whole(roles[0].loads) if roles else None,
            "slo_attainment_percent": _attainment(demand, status.slo_attainment_percent),
        }
    )


def _in_groups(job: InferenceJob, status: InferenceJobStatus) -> InferenceJobStatus:
    """The status with each replica assigned to the size groups that exist now."""
    placement = status.placement
    if placement is None or all(role.requests == "Anywhere" for role in job.spec.roles):
        return status
    places = placed_in_groups(job.model_copy(update={"status": status}), placement.assignments)
    return status.model_copy(
        update={"placement": placement.model_copy(update={"assignments": places})}
    )


def _role(
    job: InferenceJob, spec: Role, status: InferenceJobStatus, demand: JobDemand, turn: Turn
) -> RoleStatus:
    known = (each for each in status.roles if each.name == spec.name)
    found, role_demand = next(known, RoleStatus(name=spec.name)), demand.of(spec.name)
    if role_demand is None:
        return found
    scaled = scaled_loads(job, spec, role_demand, turn.now)
    loads = grouped(job, spec, scaled, turn.snapshot.pools)
    return found.model_copy(update={"loads": loads, "measured": measured(found, role_demand)})


def measured(found: RoleStatus, demand: RoleDemand) -> tuple[MeasuredCapacity, ...]:
    """The learned capacities merged into the known ones; replaced only where the figure differs.

    A longer measuring time alone is not written.
    """
    known = {(each.type, each.bucket): each for each in found.measured}
    for learned in demand.learned:
        key, load = (learned.gpu_type, learned.bucket), shown(learned.load, digits=3)
        before = known.get(key)
        if before is None or before.load != load:
            known[key] = MeasuredCapacity(
                type=learned.gpu_type,
                bucket=learned.bucket,
                load=load,
                seconds=int(learned.seconds),
            )
    return tuple(known[key] for key in sorted(known))


def _whole(loads: tuple[BucketLoad, ...]) -> LoadStatus | None:
    """The load of all sizes together."""
    if not loads:
        return None
    observed = sum(float(load.observed or 0) for load in loads)
    foreseen = sum(float(load.forecast or 0) for load in loads)
    return LoadStatus(observed=shown(observed), forecast=shown(foreseen))


def _attainment(demand: JobDemand, before: Decimal | None) -> Decimal | None:
    if demand.attainment_percent is None:
        return None if not demand.problem else before
    return Decimal(repr(demand.attainment_percent)).quantize(_TENTH)
