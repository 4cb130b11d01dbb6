"""What a plan does, as values: each action with its reason, and a sentence for people."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from plimsoll.observe.snapshot import JobName
from plimsoll.telemetry import Reason
from plimsoll_placement.model import Assignments
from plimsoll_placement.solution import Outcome


@dataclass(frozen=True, slots=True)
class Admit:
    """Give a waiting job its place."""

    job: JobName
    assignments: Assignments
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Resize:
    """Give a running job more or fewer replicas.

    `power_domain`: the one over its budget for whose sake that is done, "" if for none.
    """

    job: JobName
    assignments: Assignments
    reason: Reason
    message: str
    power_domain: str = ""


@dataclass(frozen=True, slots=True)
class Migrate:
    """Move a running job to other nodes, or start it anew where it is, with another batch.

    `power_domain`: the one over its budget for whose sake that is done, "" if for none.
    """

    job: JobName
    assignments: Assignments
    reason: Reason
    message: str
    power_domain: str = ""


@dataclass(frozen=True, slots=True)
class Preempt:
    """Take its place from a running job.

    `power_domain`: the one over its budget for whose sake that is done, "" if for none.
    """

    job: JobName
    reason: Reason
    message: str
    winners: tuple[JobName, ...] = ()
    power_domain: str = ""


@dataclass(frozen=True, slots=True)
class Hold:
    """Let a job wait; `hopeless` if nothing that runs now would have to go for it to fit."""

    job: JobName
    reason: Reason
    message: str
    inadmissible: bool = False


Change = Admit | Resize | Migrate | Preempt
Action = Change | Hold


@dataclass(frozen=True, slots=True)
class Plan:
    """What should run where, as actions, and how far from the best that can be."""

    made: datetime
    changes: tuple[Change, ...]
    holds: tuple[Hold, ...]
    gap_percent: float
    outcome: Outcome
    admitted: int
    """How many jobs have a place by this plan."""
    short: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    """What jobs lack that have a place, but not for all the replicas that are wanted."""
