"""All about one job."""

from datetime import datetime
from typing import Literal

from plimsoll_console.messages.base import Message, Stamped
from plimsoll_console.messages.keys import Asked, JobKey, JobState


class LifeEvent(Message, frozen=True):
    """Something that happened to a job.

    `what`: `Created`, `Admitted`, `Started`, `Disrupted`, `Restarted`, `WorkerFailed`, `LostWork`,
    `Saved`, `StragglerReplaced`, `Finished`, or the type of a condition that changed, of which
    `status` is `True`, `False` or `Unknown`; "" of all others.
    """

    time: datetime
    what: str
    reason: str = ""
    message: str = ""
    gpu_seconds_lost: int | None = None
    status: str = ""


class Rate(Message, frozen=True):
    """How fast the job is with so many workers of a GPU type, in units of work per second."""

    type: str
    workers: int
    batch: int | None
    stated: float | None
    measured: float | None
    measured_seconds: int


class ProgressState(Message, frozen=True):
    """How far a training job is."""

    done: float
    saved: float | None
    total: float | None
    unit: str
    percent: int | None
    rate: float | None
    lost: float
    last_checkpoint: datetime | None
    expected_completion: datetime | None
    deadline: datetime | None


class SlowWorkerState(Message, frozen=True):
    """A worker that is slower than its gang."""

    replica: int
    node: str
    since: datetime
    lost_percent: int


class RoleState(Message, frozen=True):
    """Replicas of a role of a service, and its load in the unit of its profiles.

    `least` and `most` are how many replicas there may be.
    """

    name: str
    least: int
    most: int
    wanted: int
    ready: int
    draining: int
    observed: float | None
    forecast: float | None


class ServiceState(Message, frozen=True):
    """A service: its load, its replicas, and how it keeps what requests are promised."""

    roles: tuple[RoleState, ...]
    attainment_percent: float | None
    promised_percent: float
    backlog_left: float | None
    backlog_completion: datetime | None


class PlaceState(Message, frozen=True):
    """Where pods of a job are."""

    role: str
    replica: int
    node: str
    type: str
    pool: str
    phase: Literal["Coming", "Running", "Going"]


class PowerFigures(Message, frozen=True):
    """What a GPU of a role draws, in watts."""

    role: str
    expected: int
    measured: int


class JobDetail(Stamped, frozen=True):
    """All about a job; `life` has the latest last. `places` are cut to the first 1,024."""

    key: JobKey
    queue: str
    priority: int | None
    state: JobState
    reason: str
    message: str
    asked: tuple[Asked, ...]
    gpus_milli: int
    places: tuple[PlaceState, ...]
    life: tuple[LifeEvent, ...]
    progress: ProgressState | None
    rates: tuple[Rate, ...]
    slow_workers: tuple[SlowWorkerState, ...]
    service: ServiceState | None
    power: tuple[PowerFigures, ...]
    restarts: int
    gpu_seconds_lost: int
    dollars_per_hour: float | None
    watts: int | None
