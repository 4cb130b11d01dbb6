"""What a user is told of a plan, as values: each job's fate, and how full the cluster gets by it.

The same is printed as a table and as JSON or YAML. Numbers of GPUs are whole unless fractions of
devices are in use.
"""

from collections.abc import Mapping

import msgspec


class Line(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a report; as JSON its fields are written like those of the API."""


class Place(Line, frozen=True):
    """Where the pods of one role are on one GPU type, with their GPUs by node."""

    role: str
    accelerator_type: str
    gpus: float
    nodes: Mapping[str, float]


class JobLine(Line, frozen=True):
    """What becomes of a job; `priority` is None where its class does not exist.

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


class GpuLine(Line, frozen=True):
    """How many GPUs of a type there are, and how many of them the plan and others use."""

    accelerator_type: str
    total: float
    used: float
    used_by_others: float


class QueueLine(Line, frozen=True):
    """What a queue, with all below it, uses of a GPU type; without a limit it is None."""

    name: str
    accelerator_type: str
    used: float
    guaranteed: float
    limit: float | None


class PowerLine(Line, frozen=True):
    """What the GPUs of a power domain are expected to draw."""

    name: str
    expected_watts: int
    budget_watts: int


class Summary(Line, frozen=True):
    """The plan in numbers; `gap_percent` is how far from the best it can be at most."""

    placed: int
    waiting: int
    gap_percent: float
    outcome: str
    seconds: float


class Report(Line, frozen=True):
    """All that is told of a plan: jobs in order of priority, what they share by name."""

    jobs: tuple[JobLine, ...]
    gpus: tuple[GpuLine, ...]
    queues: tuple[QueueLine, ...]
    power_domains: tuple[PowerLine, ...]
    summary: Summary
