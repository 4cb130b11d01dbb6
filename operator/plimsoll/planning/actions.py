"""The actions of a plan, as values: each with its reason and a sentence for people."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from plimsoll.observe.snapshot import JobName
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.model import Assignments
from plimsoll_placement.solution import Outcome


@dataclass(frozen=True, slots=True)
class Admit:
    """Give a waiting job its placement."""

    job: JobName
    assignments: Assignments
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Resize:
    """Give a running job more or fewer replicas.

    `power_domain`: the over-budget domain for whose sake this is done, "" if none.
    """

    job: JobName
    assignments: Assignments
    reason: Reason
    message: str
    power_domain: str = ""


@dataclass(frozen=True, slots=True)
class Migrate:
    """Move a running job to other nodes, or restart it in place with another batch size.

    `power_domain`: the over-budget domain for whose sake this is done, "" if none.
    `lost_gpu_seconds`: the work that is thrown away, as it counts in disruption budgets.
    """

    job: JobName
    assignments: Assignments
    reason: Reason
    message: str
    power_domain: str = ""
    lost_gpu_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Preempt:
    """Take its placement from a running job.

    `power_domain`: the over-budget domain for whose sake this is done, "" if none.
    `lost_gpu_seconds`: the work that is thrown away, as it counts in disruption budgets.
    """

    job: JobName
    reason: Reason
    message: str
    winners: tuple[JobName, ...] = ()
    power_domain: str = ""
    lost_gpu_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Hold:
    """Let a job wait; `inadmissible` if freeing what runs now would not let it start."""

    job: JobName
    reason: Reason
    message: str
    inadmissible: bool = False


Change = Admit | Resize | Migrate | Preempt
Action = Change | Hold


@dataclass(frozen=True, slots=True)
class Plan:
    """What should run where, as actions, and the gap to the best proven bound."""

    made: datetime
    changes: tuple[Change, ...]
    holds: tuple[Hold, ...]
    gap_percent: float
    outcome: Outcome
    admitted: int
    """How many jobs have a placement under this plan."""
    short: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    """What placed jobs lack for the rest of the replicas that they want."""
