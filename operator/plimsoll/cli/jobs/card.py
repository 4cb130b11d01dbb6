"""Everything about one job at a glance: how it stands, where it runs, how fast, at what cost."""

import statistics
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from plimsoll.api.inference_job import InferenceJob, LoadStatus, RoleStatus
from plimsoll.api.parts.conditions import is_over
from plimsoll.api.training_job import TrainingJob
from plimsoll.cli.jobs.happenings import happenings
from plimsoll.cli.jobs.life import Moment, life
from plimsoll.cli.jobs.naming import scales, stands_for, title
from plimsoll.cli.jobs.objects import JobObjects
from plimsoll.cli.jobs.places import dollars_per_hour, places_of
from plimsoll.cli.jobs.speeds import speeds
from plimsoll.cli.output.report import Line, Place
from plimsoll.cli.output.results import Speed
from plimsoll.kube.objects.objects import Pod

_HOUR = 3600


class Training(Line, frozen=True):
    """How far a training job is, how fast, and what disruptions have cost it.

    `gpu_hours_lost`: to plans, within 24 hours; `work_lost`: redone after restarts, in all.
    """

    unit: str
    work: float | None
    done: float | None
    saved: float | None
    rate: float | None
    expected_completion: datetime | None
    speeds: tuple[Speed, ...]
    restarts: int
    gpu_hours_lost: float
    work_lost: float


class RoleState(Line, frozen=True):
    """The replicas of a service's role, and the load on it."""

    role: str
    wanted: int
    ready: int
    draining: int


class Serving(Line, frozen=True):
    """How a service copes with its load, in the unit of its profiles.

    `start_seconds`: what its replicas took from their creation until they were ready, the median.
    """

    roles: tuple[RoleState, ...]
    load: float | None
    forecast: float | None
    attained_percent: float | None
    promised_percent: float
    backlog: float | None
    expected_completion: datetime | None
    scales_to_zero: bool
    start_seconds: int | None


class Card(Line, frozen=True):
    """A job; of `training` and `serving` it has one.

    `stands_for` is the workload of another controller whose pods are planned, and `targets` the one
    that is scaled. One that is `over` no longer runs where it did, and costs nothing; without known
    prices there is no cost either.
    """

    job: str
    queue: str
    priority: int | None
    suspended: bool
    over: bool
    reason: str
    message: str
    place: tuple[Place, ...]
    stands_for: str
    targets: str
    dollars_per_hour: float | None
    training: Training | None
    serving: Serving | None
    life: tuple[Moment, ...]


def card(known: JobObjects) -> Card:
    """The card of a job."""
    job = known.job
    admission, over = job.status.admission, is_over(job.status.conditions)
    return Card(
        job=title(job),
        queue=job.spec.queue,
        priority=None if admission is None else admission.priority,
        suspended=job.spec.suspend,
        over=over,
        reason=job.status.reason,
        message=job.status.message,
        place=places_of(job),
        stands_for=stands_for(job),
        targets=scales(job),
        dollars_per_hour=None if over else dollars_per_hour(job, known.pools),
        training=_training(job) if isinstance(job, TrainingJob) else None,
        serving=_serving(job, known.pods) if isinstance(job, InferenceJob) else None,
        life=life(job, happenings(job, known.pods, known.events)),
    )


def _training(job: TrainingJob) -> Training:
    status, work = job.status, job.spec.work
    progress = status.progress
    unit = progress.unit if progress is not None else work.unit if work is not None else "steps"
    lost = sum(each.gpu_seconds for each in status.lost_work)
    return Training(
        unit=unit,
        work=float(work.amount) if work is not None and work.unit == unit else None,
        done=_number(progress.done if progress else None),
        saved=_number(progress.saved_done if progress else None),
        rate=_number(progress.rate if progress else None),
        expected_completion=None if is_over(status.conditions) else status.expected_completion,
        speeds=speeds(job, status.speeds),
        restarts=status.restarts,
        gpu_hours_lost=round(lost / _HOUR, 3),
        work_lost=float(progress.lost) if progress is not None else 0.0,
    )


def _serving(job: InferenceJob, pods: Iterable[Pod]) -> Serving:
    status, load = job.status, job.status.load or LoadStatus()
    bounds = job.spec.target_ref.replicas if job.spec.target_ref else job.spec.roles[0].replicas
    return Serving(
        roles=tuple(map(_role, status.roles)),
        load=_number(load.observed),
        forecast=_number(load.forecast),
        attained_percent=_number(status.slo_attainment_percent),
        promised_percent=float(job.spec.slo.attainment_percent),
        backlog=_number(status.backlog.left if status.backlog else None),
        expected_completion=status.backlog.expected_completion if status.backlog else None,
        scales_to_zero=bounds.min == 0 and not job.spec.replicas,
        start_seconds=_start_seconds(pods),
    )


def _role(role: RoleStatus) -> RoleState:
    return RoleState(role.name, role.wanted, role.ready, role.draining)


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def _start_seconds(pods: Iterable[Pod]) -> int | None:
    """What pods that are ready took to get there, the median."""
    took = [each.total_seconds() for pod in pods for each in _took(pod)]
    return round(statistics.median(took)) if took else None


def _took(pod: Pod) -> Iterator[timedelta]:
    created = pod.metadata.creation_timestamp
    for each in pod.status.conditions:
        is_ready = each.type == "Ready" and each.status == "True"
        if is_ready and created is not None and each.last_transition_time is not None:
            yield each.last_transition_time - created
