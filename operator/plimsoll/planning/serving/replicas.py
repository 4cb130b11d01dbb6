"""Compute how many replicas carry a load, and what each is worth to the plan.

The wanted load is in a job's status, so a plan can be repeated from what the API server holds.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll.api.inference_job import BucketLoad, InferenceJob, RoleStatus
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.parts.roles import ANY_SIZE, Replicas
from plimsoll.api.parts.roles import Role as RoleSpec
from plimsoll.planning.serving.size_groups import (
    ALL_SIZES,
    group_of,
    groups_of,
    loads_of,
    shared_out,
)
from plimsoll.remembered import once_for_each

Capacities = Mapping[tuple[str, str], float]
"""What a replica carries within the objective, by GPU type and bucket, where known."""

TIMES_ALLOWED: Final = 10
"""The multiple of the allowed replicas at which a load is capped.

More makes no difference, and a load may be any number.
"""
PRECISION: Final = 100_000
"""How exactly a mix of types carries a load: to one part in so many."""
_NEGLIGIBLE: Final = 1e-6
_LARGEST: Final = 1 << 24
"""A yield beyond this would be too large for exact models."""


@dataclass(frozen=True, slots=True)
class Service:
    """What a role should carry, for the solver: see `Role.yields` and `Role.wanted_milli`.

    `most`: the most replicas that could be needed or are allowed; `fewest`: the minimum, where the
    load to carry does not imply it. See `Role.wanted_count`. `yields` are in units of `fineness`.
    """

    yields: Mapping[str, int]
    wanted_milli: int
    most: int
    fewest: int = 0
    fineness: int = 1

    @property
    def wanted_load(self) -> int:
        """What is wanted, in units of `fineness`."""
        return self.wanted_milli * self.fineness


def role_status(job: InferenceJob, role: RoleSpec) -> RoleStatus | None:
    """The job's status of a role; None if there is none yet."""
    return next((each for each in job.status.roles if each.name == role.name), None)


def served_by(job: InferenceJob) -> tuple[object, ...]:
    """What `services` depends on besides a job's spec: its status, and the role of its target."""
    loads = tuple(
        (
            role.name,
            role.measured,
            tuple((load.bucket, load.wanted, load.size_group) for load in role.loads),
        )
        for role in job.status.roles
    )
    return (*loads, job.status.target, *job.spec.roles) if job.spec.target_ref else loads


def capacities(job: InferenceJob, role: RoleSpec) -> Capacities:
    """What a replica of a role carries: as measured, otherwise as its profiles state."""
    stated = {(p.type, p.bucket): float(p.load) for p in role.profiles if p.load is not None}
    status = role_status(job, role)
    measured = status.measured if status else ()
    return stated | {(each.type, each.bucket): float(each.load) for each in measured if each.load}


def replicas_needed(loads: Iterable[BucketLoad], known: Capacities, gpu_type: str) -> float | None:
    """How many replicas of one GPU type, as a fraction, carry the whole wanted load.

    A replica divides its time between the sizes (Griggs et al. 2024, Mélange). None if it is
    unknown how much of them a replica of that type carries.
    """
    return _needed({load.bucket: float(load.wanted) for load in loads}, known, gpu_type)


def _needed(loads: Mapping[str, float], known: Capacities, gpu_type: str) -> float | None:
    total = 0.0
    for bucket, load in loads.items():
        carries = known.get((gpu_type, bucket)) or known.get((gpu_type, ANY_SIZE))
        if load and carries is None:
            return None
        total += load / carries if carries else 0.0
    return total


def one_replica(job: InferenceJob, role: RoleSpec, bucket: str) -> float:
    """The smallest load of a bucket that one more replica carries; 0 if that is unknown."""
    known = capacities(job, role)
    kinds = sorted({profile.type for profile in role.profiles})
    found = (known.get((kind, bucket)) or known.get((kind, ANY_SIZE)) for kind in kinds)
    return min(filter(None, found), default=0.0)


def ready_capacity(job: InferenceJob, role: RoleSpec, loads: Mapping[str, float]) -> float | None:
    """What the ready replicas carry, as a multiple of these loads.

    None if that is unknown, or says nothing about how well their number was chosen: while it is
    pinned, no load was known, or there are as many as may be.
    """
    status = role_status(job, role)
    if status is None or fixed_count(job, role) is not None:
        return None
    if sum(pool.ready for pool in status.pools) >= role.replicas.max:
        return None
    covered = 0.0
    for pool in status.pools:
        needed = _needed(loads, capacities(job, role), pool.accelerator_type)
        if pool.ready and not needed:
            return None
        covered += pool.ready / needed if needed else 0.0
    return covered


def is_measured(job: InferenceJob) -> bool:
    """Whether a service's load matters: for its number of replicas, or to those who read it."""
    spec = job.spec
    if spec.suspend or not spec.roles:
        return False
    grows = any(role.replicas.min < role.replicas.max for role in spec.roles)
    promises = spec.slo.time_to_first_token or spec.slo.time_per_output_token or spec.slo.latency
    return grows or bool(promises or spec.load.queries)


def fixed_count(job: InferenceJob, role: RoleSpec) -> int | None:
    """The number of replicas regardless of load: the pinned count.

    Without a known load it is the minimum, or for a target the count it was found with, within the
    allowed bounds. None if the load decides. `spec.replicas` pins the count of the first role.
    """
    if job.spec.replicas is not None and role is job.spec.roles[0]:
        return job.spec.replicas
    status = role_status(job, role)
    if status is not None and status.loads:
        return None
    least, most, target = role.replicas.min, role.replicas.max, job.status.target
    return least if target is None else min(max(least, target.found), most)


def services(job: InferenceJob, role: RoleSpec) -> Mapping[str, Service]:
    """What each size group of a role should carry, and what a replica on each GPU type carries."""
    return _services_by_role(job)[role.name]


@once_for_each
def _services_by_role(job: InferenceJob) -> Mapping[str, Mapping[str, Service]]:
    return {role.name: _services(job, role) for role in job.spec.roles}


def _services(job: InferenceJob, role: RoleSpec) -> Mapping[str, Service]:
    milli = role.milli_gpus_per_pod * role.pods_per_replica
    count = fixed_count(job, role)
    kinds = {profile.type for profile in role.profiles}
    if count is not None:
        return {ALL_SIZES: Service(dict.fromkeys(kinds, milli), count * milli, count)}
    groups, known = groups_of(job, role), capacities(job, role)
    status = role_status(job, role)
    loads = status.loads if status else ()
    needed = {
        group: {
            kind: count
            for kind in sorted(kinds)
            if (count := replicas_needed(loads_of(loads, group, groups), known, kind)) is not None
        }
        for group in groups
    }
    bounds = {groups[0]: role.replicas} if len(groups) == 1 else _shared_bounds(role, needed)
    return {group: _service(bounds[group], milli, kinds, needed[group]) for group in groups}


def _shared_bounds(
    role: RoleSpec, needed: Mapping[str, Mapping[str, float]]
) -> Mapping[str, Replicas]:
    """A role's bounds divided among its groups, by their needs.

    Of the maximum each group gets what it needs of its own type before any gets more, for types
    that carry less.
    """
    need = {g: counts.get(g, min(counts.values(), default=0.0)) for g, counts in needed.items()}
    least = shared_out(role.replicas.min, need)
    own = {g: max(1, least[g], math.ceil(need[g])) for g in needed}
    worst = {g: max(own[g], math.ceil(max(needed[g].values(), default=0.0))) for g in needed}
    most = role.replicas.max
    if sum(worst.values()) <= most:
        shares = worst
    elif sum(own.values()) <= most:
        more = shared_out(most - sum(own.values()), {g: worst[g] - own[g] for g in needed})
        shares = {g: own[g] + more[g] for g in needed}
    else:
        rest = shared_out(most - len(needed), own)
        shares = {g: 1 + rest[g] for g in needed}
    return {g: Replicas(min=min(least[g], shares[g]), max=shares[g]) for g in needed}


def _service(
    bounds: Replicas, milli: int, kinds: Iterable[str], needed: Mapping[str, float]
) -> Service:
    if not any(needed.values()):
        return Service(dict.fromkeys(kinds, milli), bounds.min * milli, bounds.min)
    return _loaded(bounds, milli, needed)


def _loaded(bounds: Replicas, milli: int, needed: Mapping[str, float]) -> Service:
    """The whole wanted load is worth the GPUs that it takes of the type that carries most.

    A replica is worth its part of that, fine enough that any mix of types carries the load to
    within one part in `PRECISION`. If the minimum carries the load on any type, it is worth
    the same on all; if only on some types, the minimum is wanted regardless of what the replicas
    carry.
    """
    fewest = max(bounds.min, 1)
    needed = _at_most(TIMES_ALLOWED * bounds.max, needed)
    total = milli * max(math.ceil(min(needed.values())), fewest)
    if max(needed.values()) <= fewest:
        needed = dict.fromkeys(needed, fewest)
    most = min(bounds.max, max(fewest, math.ceil(max(needed.values()))))
    counted = fewest if min(needed.values()) < fewest and fewest > 1 else 0
    parts = {kind: total / max(n, 1) for kind, n in needed.items()}
    fineness = _fineness(tuple(parts.values()), total, most)
    # Rounded up: what lacks through rounding must not be worth another replica.
    yields = {k: math.ceil(each * fineness - _NEGLIGIBLE) for k, each in parts.items()}
    return Service(yields, total, most, counted, fineness)


def _fineness(parts: Sequence[float], total: int, most: int) -> int:
    """The units of a milli-GPU in which rounding so many replicas up adds next to nothing."""
    if all(abs(part - round(part)) < _NEGLIGIBLE for part in parts):
        return 1
    return max(1, min(-(-most * PRECISION // total), _LARGEST // math.ceil(max(parts))))


def _at_most(most: int, needed: Mapping[str, float]) -> Mapping[str, float]:
    """The replicas needed of each type, scaled down if no type gets by with this many."""
    scale = most / max(min(needed.values()), most)
    return {kind: n * scale for kind, n in needed.items()} if scale < 1 else needed


def wanted_replicas(job: InferenceJob, role: RoleSpec, places: Iterable[Assignment]) -> int:
    """How many replicas of a role there should be, including those in these places.

    The load that they do not carry is assumed to go where the fewest replicas carry it.
    """
    groups = services(job, role)
    kinds: dict[str, list[str]] = {group: [] for group in groups}
    for place in places:
        kinds[group_of(place, tuple(groups))].append(place.accelerator_type)
    is_fixed = fixed_count(job, role) is not None
    return sum(_wanted(each, kinds[group], is_fixed=is_fixed) for group, each in groups.items())


def _wanted(service: Service, kinds: Sequence[str], *, is_fixed: bool) -> int:
    lacking = service.wanted_load - sum(service.yields.get(kind, 0) for kind in kinds)
    if lacking <= 0:
        return min(len(kinds), service.most) if is_fixed else max(len(kinds), service.fewest)
    more = math.ceil(lacking / max(service.yields.values()))
    return min(service.most, max(len(kinds) + more, service.fewest))
