"""Assign request sizes to replicas of a role, where a router sends requests by size.

The sizes that one GPU type serves most cheaply share replicas: a size group, named after that type.
For the solver, each group is a role of its own, so it is placed on the GPUs available, of its own
type or of another. A role whose requests go anywhere is one group without a name.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from plimsoll.api.definition import GROUP
from plimsoll.api.inference_job import BucketLoad, InferenceJob
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.parts.roles import BUCKET_LABEL, Role
from plimsoll_placement.model import RoleName

SIZES = f"sizes.{GROUP}/"
"""The prefix of the pod labels that name the request sizes which a pod takes."""
ALL_SIZES = ""
"""The group of a role whose replicas take all sizes."""
_OF = ":"
"""Separates a role from a group; never part of a role's name."""

Groups = tuple[str, ...]


def groups_of(job: InferenceJob, role: Role) -> Groups:
    """The size groups of a role with load; only `ALL_SIZES` if it has none.

    A role with a fixed replica count has none.
    """
    first = bool(job.spec.roles) and role is job.spec.roles[0]
    if role.requests == "Anywhere" or (first and job.spec.replicas is not None):
        return (ALL_SIZES,)
    loads = next((each.loads for each in job.status.roles if each.name == role.name), ())
    named = {load.size_group or ALL_SIZES for load in loads if load.wanted}
    fits = 1 < len(named) <= role.replicas.max
    return tuple(sorted(named)) if fits else (ALL_SIZES,)


def group_of(place: Assignment, groups: Groups) -> str:
    """The group that a replica serves now; if its group no longer exists, that of its GPU type."""
    wishes = (place.size_group or ALL_SIZES, place.accelerator_type)
    return next((wish for wish in wishes if wish in groups), groups[0])


def loads_of(loads: Sequence[BucketLoad], group: str, groups: Groups) -> Sequence[BucketLoad]:
    """The loads that a group of a role carries."""
    if len(groups) == 1:
        return loads
    return [load for load in loads if (load.size_group or ALL_SIZES) == group]


def part_name(role: str, group: str) -> RoleName:
    """The solver's name for the part of a role that serves a group."""
    return RoleName(f"{role}{_OF}{group}" if group else role)


def whole_role(name: str) -> tuple[str, str]:
    """The role and the group that the solver's name stands for."""
    role, _, group = name.partition(_OF)
    return role, group


def shared_out(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Divide a number by weights; the remainder goes to the largest fractions."""
    whole = sum(weights.values()) or 1.0
    exact = {name: total * weight / whole for name, weight in weights.items()}
    shares = {name: int(each) for name, each in exact.items()}
    left = total - sum(shares.values())
    for name in sorted(exact, key=lambda name: (shares[name] - exact[name], name))[:left]:
        shares[name] += 1
    return shares


def placed_in_groups(job: InferenceJob, places: Iterable[Assignment]) -> tuple[Assignment, ...]:
    """The places of a job's replicas, each with its size group according to the job's status."""
    groups = {role.name: groups_of(job, role) for role in job.spec.roles}
    return tuple(
        place.model_copy(update={"size_group": group_of(place, groups[place.role]) or None})
        if place.role in groups
        else place
        for place in places
    )


def size_labels(
    job: InferenceJob, role: Role, place: Assignment, serving: Collection[str]
) -> dict[str, str]:
    """The labels of a replica's pods, for the request sizes that it takes.

    `serving`: the groups with ready replicas. Requests of a group without any are taken by all
    replicas.
    """
    if role.requests == "Anywhere":
        return {}
    mine = group_of(place, groups_of(job, role))
    loads = next((each.loads for each in job.status.roles if each.name == role.name), ())
    return {
        f"{SIZES}{load.bucket}": "true"
        for load in loads
        if re.fullmatch(BUCKET_LABEL, load.bucket)
        and ((load.size_group or ALL_SIZES) == mine or (load.size_group or "") not in serving)
    }
