"""What an inference job is asked to carry, as it was measured and foreseen.

Made outside of snapshots, where time passes; a snapshot holds it as it was told last. Loads are in
the unit of the job's profiles, such as requests or tokens a second.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from plimsoll.api.parts.roles import ANY_SIZE


@dataclass(frozen=True, slots=True)
class BucketDemand:
    """The load of requests of some sizes.

    `observed`: what comes now. `foreseen`: the quantile of what will come within the horizon.
    `least_of_late`: the least that was foreseen within the stabilisation window of scaling up, zero
    while less than that window is known; more than that need not be wanted yet. `most_of_late`: the
    most that was foreseen within the window of scaling down, infinite while less than that window
    is known; less than that is not wanted yet.
    """

    observed: float
    foreseen: float
    least_of_late: float
    most_of_late: float
    bucket: str = ANY_SIZE


@dataclass(frozen=True, slots=True)
class LearnedCapacity:
    """The load that a replica of one GPU type was seen to carry within the objective.

    `seconds`: for how long that was measured.
    """

    gpu_type: str
    load: float
    seconds: float


@dataclass(frozen=True, slots=True)
class RoleDemand:
    """The load of a role by request size, one entry at least, and what its replicas carry."""

    role: str
    loads: tuple[BucketDemand, ...]
    learned: tuple[LearnedCapacity, ...] = ()


@dataclass(frozen=True, slots=True)
class JobDemand:
    """What is known of a job's load.

    `roles`: those of which the load is known and fresh; one that is missing keeps what it has.
    `at`: when that was measured. `problem`: why something is not known, "" if all is well.
    `attainment_percent`: the share of requests that got what they are promised.
    `latencies`: seconds within which that share of requests stays which is promised to, by the name
    of the measurement, such as `TimeToFirstToken`. `running_requests`: the
    requests that each pod answers, by the pod's name. `awaits_metrics`: whether the problem is one
    that every service has at first: nothing tells its load yet. `backlog`: what is left to do by
    the deadline of the load, by role and bucket, in the unit of the load without its "a second".
    """

    job_uid: str
    at: datetime
    roles: tuple[RoleDemand, ...] = ()
    problem: str = ""
    attainment_percent: float | None = None
    latencies: Mapping[str, float] = field(default_factory=dict[str, float])
    running_requests: Mapping[str, float] = field(default_factory=dict[str, float])
    awaits_metrics: bool = False
    backlog: Mapping[str, Mapping[str, float]] = field(
        default_factory=dict[str, Mapping[str, float]]
    )

    def of(self, role: str) -> RoleDemand | None:
        """The demand of a role; None where it is not known."""
        return next((each for each in self.roles if each.role == role), None)
