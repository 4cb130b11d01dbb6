"""The cluster in short."""

from datetime import datetime

from plimsoll_console.messages.base import Message, Stamped
from plimsoll_console.messages.keys import JobKey


class PlanFigures(Message, frozen=True):
    """The last plan in numbers. `gapPercent` bounds its distance from the best plan."""

    time: datetime
    gap_percent: float | None
    admitted: int
    held: int
    actions: int


class Counts(Message, frozen=True):
    """How many there are in the whole cluster, whatever the user may see.

    GPUs are those of nodes that can be used; `takenMilli` is what pods hold of them, whoever made
    these, and `usefulMilli` what running jobs hold.
    """

    nodes: int
    nodes_ready: int
    gpus_milli: int
    taken_milli: int
    useful_milli: int
    jobs_running: int
    jobs_waiting: int


class TypeCounts(Message, frozen=True):
    """GPUs of one type: in all, held by jobs of Plimsoll, and held by other pods."""

    type: str
    gpus_milli: int
    jobs_milli: int
    others_milli: int


class Advice(Message, frozen=True):
    """What a plan would do with a job that is only published: see `mode` of `Cluster`."""

    key: JobKey
    action: str
    reason: str
    message: str


class Cluster(Stamped, frozen=True):
    """The cluster in short.

    `mode` is `Enforce` or `Advise`; `objective` is the policy's preset. Both, and `plan`, are None
    where the user may not see the policy, or there is none. `problems`: what keeps plans from being
    made, in sentences. `advice`: what the last plan would do, in mode `Advise`. `dollarsPerHour` is
    what the nodes cost whose price is known.
    """

    mode: str | None
    objective: str | None
    plan: PlanFigures | None
    counts: Counts
    types: tuple[TypeCounts, ...]
    dollars_per_hour: float | None
    expected_watts: int | None
    measured_watts: int | None
    problems: tuple[str, ...]
    advice: tuple[Advice, ...]
