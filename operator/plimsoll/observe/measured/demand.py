"""An inference job's measured and forecast load.

It is computed outside snapshots, as time passes; a snapshot holds the latest value. Loads are in
the unit of the job's profiles, such as requests or tokens per second.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from plimsoll.api.parts.roles import ANY_SIZE


@dataclass(frozen=True, slots=True)
class Unserved:
    """The share of a load that was unserved, the mean load, and over how many seconds."""

    share: float
    load: float
    seconds: float


@dataclass(frozen=True, slots=True)
class BucketDemand:
    """The load of requests of one size bucket.

    `observed`: the current load. `foreseen`: the quantile of the load forecast within the horizon,
    or the current load if that is more. `worth`: the capacity that is worth having for it, in whole
    replicas where it is known what one carries. `least_of_late`: the least that was worth having
    within the scale-up stabilisation window, zero until a full window is known; more than that need
    not be wanted yet. `most_of_late`: the most within the scale-down window, infinite until a full
    window is known; less than that is not wanted yet. `quantile`: the one that was foreseen, None
    without a forecast. `share`: of the load, may be unserved from here on, and `unserved`: what
    was so far; None if the quantile is fixed.
    """

    observed: float
    foreseen: float
    worth: float
    least_of_late: float
    most_of_late: float
    bucket: str = ANY_SIZE
    quantile: float | None = None
    share: float | None = None
    unserved: Unserved | None = None


@dataclass(frozen=True, slots=True)
class LearnedCapacity:
    """The load that a replica on one GPU type was observed to carry within the objective.

    `seconds`: for how long that was measured.
    """

    gpu_type: str
    load: float
    seconds: float
    bucket: str = ANY_SIZE


Range = tuple[float, float]
"""The seconds between which a latency lies: histograms tell no more."""


@dataclass(frozen=True, slots=True)
class TypeReading:
    """What the replicas of one GPU type did, `replicas` of them together.

    `load`: served, in the unit of the role's load. `latencies`, `late`: as `latency_ranges` and
    `late` of `JobDemand`.
    """

    gpu_type: str
    replicas: int
    load: float
    latencies: Mapping[str, Range]
    late: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class RoleDemand:
    """The load of a role by request size, at least one entry, and what its replicas carry.

    `types`: what each of several GPU types did that serve at once.
    """

    role: str
    loads: tuple[BucketDemand, ...]
    learned: tuple[LearnedCapacity, ...] = ()
    types: tuple[TypeReading, ...] = ()


@dataclass(frozen=True, slots=True)
class JobDemand:
    """What is known of a job's load.

    `roles`: those whose load is known and fresh; a missing role keeps its replicas. `at`: when it
    was measured. `problem`: why something is unknown, "" if all is well. `attainment_percent`: the
    share of requests that met the objective. `latencies`: seconds within which the promised share
    of requests stays, by the name of the measurement, such as `TimeToFirstToken`;
    `latency_ranges`: between which that surely lies; `late`: the share of requests, from 0 to 1,
    that surely missed the objective, where histograms tell.
    `running_requests`: the requests in progress on each pod, by the pod's name. `awaits_metrics`:
    whether the problem is the one that every service has at first: nothing reports its load yet.
    `backlog`: the work left until the load's deadline, by role and bucket, in the load's unit
    without its "per second". `kv_cache_used`: the share of the replicas' KV cache that is used, by
    role, where the server reports it.
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
    kv_cache_used: Mapping[str, float] = field(default_factory=dict[str, float])
    latency_ranges: Mapping[str, Range] = field(default_factory=dict[str, Range])
    late: Mapping[str, float] = field(default_factory=dict[str, float])

    def of(self, role: str) -> RoleDemand | None:
        """The demand of a role; None if unknown."""
        return next((each for each in self.roles if each.role == role), None)
