"""How a service is told its load: what is wanted of each role, and the condition `LoadKnown`.

What is wanted is written down before anything is done about it; plans are made from what is
written. A load that is not known changes nothing.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

from plimsoll.acting.conditions.backlog import lateness_events, with_backlog_told
from plimsoll.acting.conditions.conditions import LONGEST_MESSAGE, whole_second
from plimsoll.acting.step import JobEvent, Step, Turn
from plimsoll.api.inference_job import (
    BucketLoad,
    InferenceJob,
    InferenceJobStatus,
    LoadStatus,
    MeasuredCapacity,
    RoleStatus,
)
from plimsoll.api.parts.conditions import Condition, Conditions, condition, with_condition
from plimsoll.api.parts.roles import ANY_SIZE, Role
from plimsoll.observe.measured.demand import JobDemand, RoleDemand
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.problem.build import wants_place
from plimsoll.planning.serving.autoscaling import scaled_loads, shown
from plimsoll.planning.serving.grouping import grouped
from plimsoll.planning.serving.replicas import is_measured
from plimsoll.planning.serving.size_groups import placed_in_groups
from plimsoll.telemetry import Reason

LOAD_KNOWN = "LoadKnown"
FIRST_METRICS = timedelta(minutes=5)
"""How long a new service may take until its load is measured, before anybody is warned."""
NO_PROMETHEUS = (
    "no Prometheus is set, so nothing tells the load, and it keeps the replicas that it has: set"
    " prometheus.url of the chart"
)
_TENTH = Decimal("0.1")


def is_load_told(view: JobView, turn: Turn) -> bool:
    """Whether a job's status says already what is known of its load, or there is nothing to say."""
    return view.inference is None or _told(view, view.inference.status, turn) is None


def with_load_told(step: Step, turn: Turn) -> Step:
    """The step, which also says what is known of the load if that is new."""
    before = step.status
    if not isinstance(before, InferenceJobStatus):
        return step
    status = _told(step.job, before, turn)
    until = _awaits_until(before if status is None else status)
    if until is not None:
        step = replace(step, again_at=min(until, step.again_at or until))
    if status is None:
        return step
    events = (*_load_events(before, status), *lateness_events(before, status))
    return replace(step, status=status, events=(*step.events, *events))


def _awaits_until(status: InferenceJobStatus) -> datetime | None:
    """Until when nobody is warned that the first metrics are awaited; None if they are not."""
    found = condition(status.conditions, LOAD_KNOWN)
    awaits = found is not None and found.reason == Reason.METRICS_AWAITED
    return found.last_transition_time + FIRST_METRICS if found is not None and awaits else None


def _load_events(before: InferenceJobStatus, after: InferenceJobStatus) -> tuple[JobEvent, ...]:
    """The event that a load is not known, each time for another reason."""
    was, now = (condition(each.conditions, LOAD_KNOWN) for each in (before, after))
    if now is None or now == was or now.reason != Reason.LOAD_UNKNOWN:
        return ()
    return (JobEvent(Reason.LOAD_UNKNOWN, now.message, warning=True),)


def without_numbers(status: InferenceJobStatus) -> InferenceJobStatus:
    """The status without what people read of the load, and nothing is decided by."""
    silent = {"observed": None, "forecast": None}
    roles = tuple(
        role.model_copy(
            update={"loads": tuple(load.model_copy(update=silent) for load in role.loads)}
        )
        for role in status.roles
    )
    quiet = {"roles": roles, "load": None, "slo_attainment_percent": None, "backlog": None}
    return status.model_copy(update=quiet)


def _told(view: JobView, status: InferenceJobStatus, turn: Turn) -> InferenceJobStatus | None:
    """The status with what is known of the load; None if that is no other."""
    job, demand = view.inference, view.demand
    if job is None or not wants_place(view):
        return None
    if demand is None:
        return _without_prometheus(view, job, status, turn)
    roles = tuple(_role(job, each, status, demand, turn) for each in job.spec.roles)
    known = status.model_copy(
        update={
            "roles": roles,
            "load": _whole(roles[0].loads) if roles else None,
            "slo_attainment_percent": _attainment(demand, status.slo_attainment_percent),
            "conditions": _conditions(view, status, demand, turn),
        }
    )
    known = with_backlog_told(_in_groups(job, known), job, view, turn)
    return None if known == status else known


def _in_groups(job: InferenceJob, status: InferenceJobStatus) -> InferenceJobStatus:
    """The status with the sizes that each replica is for by the groups that there are now."""
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
    found, asked = next(known, RoleStatus(name=spec.name)), demand.of(spec.name)
    if asked is None:
        return found
    scaled = scaled_loads(job, spec, asked, turn.now)
    loads = grouped(job, spec, scaled, turn.snapshot.pools)
    return found.model_copy(update={"loads": loads, "measured": _measured(found, asked)})


def _measured(found: RoleStatus, asked: RoleDemand) -> tuple[MeasuredCapacity, ...]:
    """What was learned, in place of what was known before; written when it is another number.

    That it was measured for longer still is no news.
    """
    known = {each.type: each for each in found.measured}
    for learned in asked.learned:
        load = shown(learned.load, digits=3)
        before = known.get(learned.gpu_type)
        if before is None or before.load != load:
            known[learned.gpu_type] = MeasuredCapacity(
                type=learned.gpu_type, bucket=ANY_SIZE, load=load, seconds=int(learned.seconds)
            )
    return tuple(known[kind] for kind in sorted(known))


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


def _without_prometheus(
    view: JobView, job: InferenceJob, status: InferenceJobStatus, turn: Turn
) -> InferenceJobStatus | None:
    """The status of a service whose load nobody can tell; None if it says so, or need not."""
    if turn.asks_for_loads or not is_measured(job):
        return None
    news = _condition(view, turn, "False", Reason.PROMETHEUS_NOT_SET, NO_PROMETHEUS)
    known = status.model_copy(update={"conditions": _with(status.conditions, news)})
    return None if known == status else known


def _conditions(
    view: JobView, status: InferenceJobStatus, demand: JobDemand, turn: Turn
) -> Conditions:
    if not demand.problem:
        news = _condition(view, turn, "True", Reason.LOAD_MEASURED, "")
    elif demand.awaits_metrics and _is_new(status, turn):
        news = _condition(view, turn, "Unknown", Reason.METRICS_AWAITED, demand.problem)
    else:
        news = _condition(view, turn, "False", Reason.LOAD_UNKNOWN, demand.problem)
    return _with(status.conditions, news)


def _is_new(status: InferenceJobStatus, turn: Turn) -> bool:
    """Whether the load was never known yet, and not for long."""
    until = _awaits_until(status)
    return condition(status.conditions, LOAD_KNOWN) is None or (
        until is not None and turn.now < until
    )


def _condition(
    view: JobView,
    turn: Turn,
    status: Literal["True", "False", "Unknown"],
    reason: Reason,
    message: str,
) -> Condition:
    return Condition(
        type=LOAD_KNOWN,
        status=status,
        reason=reason,
        message=message[:LONGEST_MESSAGE],
        last_transition_time=whole_second(turn.now),
        observed_generation=view.resource.metadata.generation,
    )


def _with(conditions: Conditions, news: Condition) -> Conditions:
    before = condition(conditions, LOAD_KNOWN)
    if before is not None and _same(before, news):
        return conditions
    return with_condition(conditions, news)


def _same(before: Condition, news: Condition) -> bool:
    """Whether two conditions say the same; that it was seen for a newer spec is told elsewhere."""
    return (before.status, before.reason, before.message) == (
        news.status,
        news.reason,
        news.message,
    )
