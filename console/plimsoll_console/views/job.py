"""All about one job: its life, its rates, its places and its cost."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.progress import MeasuredRate
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobView
from plimsoll_console.messages.job import (
    JobDetail,
    PlaceState,
    PowerFigures,
    ProgressState,
    Rate,
    RoleState,
    ServiceState,
    SlowWorkerState,
)
from plimsoll_console.views.asked import asked_by
from plimsoll_console.views.holdings import (
    dollars_per_hour,
    milli_by_type,
    phase_of,
    state_of,
    watts_per_gpu,
)
from plimsoll_console.views.life import life_of
from plimsoll_console.views.sight import Sight, key_of
from plimsoll_console.views.stamps import Stamp

MOST_PLACES: Final = 1024


def job_of(sight: Sight, view: JobView, stamp: Stamp) -> JobDetail:
    """All about a job that the user may see."""
    status, snapshot, training = view.resource.status, sight.snapshot, view.training
    held = sum(milli_by_type(snapshot, view).values())
    watts = watts_per_gpu(snapshot, view)
    return JobDetail(
        *stamp,
        key=key_of(view),
        queue=view.resource.spec.queue,
        priority=view.priority,
        state=state_of(view),
        reason=status.reason,
        message=sight.text(status.message),
        asked=asked_by(view.resource),
        gpus_milli=held,
        places=tuple(_places(sight, view))[:MOST_PLACES],
        life=life_of(view, sight.text),
        progress=_progress(training) if training else None,
        rates=tuple(_rates(training)) if training else (),
        slow_workers=tuple(_slow(training)) if training else (),
        service=_service(view.inference) if view.inference else None,
        power=tuple(
            PowerFigures(each.role, each.expected_watts, each.measured_watts)
            for each in status.power
        ),
        restarts=training.status.restarts if training else 0,
        gpu_seconds_lost=sum(each.gpu_seconds for each in view.lost_work),
        dollars_per_hour=dollars_per_hour(snapshot, view),
        watts=None if watts is None else watts * held // 1000,
    )


def _places(sight: Sight, view: JobView) -> Iterator[PlaceState]:
    placement = view.resource.status.placement
    types = {
        name: (place.accelerator_type, place.pool)
        for place in (placement.assignments if placement else ())
        for name in place.nodes
    }
    for pod in view.pods:
        node = pod.node or pod.wanted_node
        if node and not pod.is_over:
            gpu_type, pool = types.get(node, ("", ""))
            yield PlaceState(
                role=pod.role,
                replica=pod.replica,
                node=node,
                type=gpu_type,
                pool=pool if sight.rights.pools else "",
                phase=phase_of(pod),
            )


def _progress(job: TrainingJob) -> ProgressState | None:
    progress, work = job.status.progress, job.spec.work
    if progress is None:
        return None
    counts = work is not None and work.unit == progress.unit
    return ProgressState(
        done=float(progress.done),
        saved=_number(progress.saved_done),
        total=float(work.amount) if work is not None and counts else None,
        unit=progress.unit,
        percent=progress.percent,
        rate=_number(progress.rate),
        lost=float(progress.lost),
        last_checkpoint=progress.last_checkpoint,
        expected_completion=job.status.expected_completion,
        deadline=work.deadline if work is not None else None,
    )


def _rates(job: TrainingJob) -> Iterator[Rate]:
    """The rates that were stated, measured or both, by type and number of workers."""
    stated = {
        (each.type, point.workers): float(point.rate)
        for each in job.spec.accelerators
        for point in each.throughput
    }
    measured: dict[tuple[str, int], list[MeasuredRate]] = {}
    for each in job.status.measured:
        measured.setdefault((each.type, each.workers), []).append(each)
    for name, workers in sorted({*stated, *measured}):
        said = stated.get((name, workers))
        found = measured.get((name, workers))
        if found is None:
            yield Rate(name, workers, None, said, None, 0)
        for each in found or ():
            yield Rate(name, workers, each.batch, said, float(each.rate), each.seconds)


def _slow(job: TrainingJob) -> Iterator[SlowWorkerState]:
    for each in job.status.slow_workers:
        yield SlowWorkerState(each.replica, each.node, each.since, each.lost_percent)


def _service(job: InferenceJob) -> ServiceState:
    status, backlog = job.status, job.status.backlog
    return ServiceState(
        roles=tuple(_roles(job)),
        attainment_percent=_number(status.slo_attainment_percent),
        promised_percent=float(job.spec.slo.attainment_percent),
        backlog_left=_number(backlog.left) if backlog else None,
        backlog_completion=backlog.expected_completion if backlog else None,
    )


def _roles(job: InferenceJob) -> Iterator[RoleState]:
    target = job.spec.target_ref
    sizes = {role.name: role.replicas for role in job.spec.roles}
    for number, role in enumerate(job.status.roles):
        replicas = target.replicas if target is not None else sizes.get(role.name)
        # The sizes of requests need not be known; the status has the first role's total.
        total = job.status.load if number == 0 else None
        observed = _sum(each.observed for each in role.loads)
        forecast = _sum(each.forecast for each in role.loads)
        yield RoleState(
            name=role.name,
            least=replicas.min if replicas is not None else 0,
            most=replicas.max if replicas is not None else 0,
            wanted=role.wanted,
            ready=role.ready,
            draining=role.draining,
            observed=_number(total.observed) if total else observed,
            forecast=_number(total.forecast) if total else forecast,
        )


def _sum(values: Iterator[Decimal | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(sum(known)) if known else None


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
