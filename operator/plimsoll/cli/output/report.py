"""What a plan means, as values: what happens to each job, and how full the cluster gets.

Tables, JSON and YAML are written from these. Numbers of GPUs are whole unless fractions of devices
are in use.
"""

from collections.abc import Mapping

import msgspec


class Line(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a report; in JSON its fields are named like those of the API."""


def gpus(milli: int) -> float:
    """Milli-GPUs as GPUs; an int if they are whole."""
    return milli / 1000 if milli % 1000 else milli // 1000


class Place(Line, frozen=True):
    """Where a role's pods are on one GPU type, with GPUs by node."""

    role: str
    accelerator_type: str
    gpus: float
    nodes: Mapping[str, float]


class Purchase(Line, frozen=True):
    """The nodes that are not there yet on which a job would start, by GPUPool.

    `nodes` are to be bought, for so many `dollars_per_hour`; `ordered` are on their way.
    """

    nodes: Mapping[str, int]
    ordered: Mapping[str, int]
    dollars_per_hour: float
    start_seconds: int
    within_budget: bool
    message: str


class JobLine(Line, frozen=True):
    """What happens to a job; `priority` is None if its class does not exist.

    `missing` says how many of its replicas have no place.
    """

    kind: str
    namespace: str
    name: str
    queue: str
    priority: int | None
    action: str
    reason: str
    message: str
    place: tuple[Place, ...] = ()
    missing: str = ""
    purchase: Purchase | None = None


class GpuLine(Line, frozen=True):
    """How many GPUs of a type there are, and how many the plan and others use."""

    accelerator_type: str
    total: float
    used: float
    used_by_others: float


class QueueLine(Line, frozen=True):
    """What a queue and its descendants use of a GPU type; `limit` is None if there is none."""

    name: str
    accelerator_type: str
    used: float
    guaranteed: float
    limit: float | None


class PowerLine(Line, frozen=True):
    """Expected power draw of a power domain's GPUs."""

    name: str
    expected_watts: int
    budget_watts: int


class PurchaseLine(Line, frozen=True):
    """How many nodes of a GPUPool would be bought for jobs that wait, and what they cost."""

    pool: str
    capacity_type: str
    nodes: int
    dollars_per_hour: float


class Summary(Line, frozen=True):
    """The plan in numbers; `gap_percent` bounds its distance from the best plan."""

    placed: int
    waiting: int
    gap_percent: float
    outcome: str
    seconds: float


class Report(Line, frozen=True):
    """Everything to report about a plan: jobs by priority, shared resources by name."""

    jobs: tuple[JobLine, ...]
    gpus: tuple[GpuLine, ...]
    queues: tuple[QueueLine, ...]
    power_domains: tuple[PowerLine, ...]
    purchases: tuple[PurchaseLine, ...]
    summary: Summary
