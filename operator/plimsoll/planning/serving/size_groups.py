"""Which replicas of a role carry requests of which sizes, where a router sends them by size.

Buckets that one GPU type carries for the least share replicas: a group, which has that type's name.
For the solver each group is a role of its own, so that it has the GPUs that there are for it, of
its own type or of another one. A role whose requests go anywhere is one group without a name.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from plimsoll.api.inference_job import BucketLoad, InferenceJob
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.parts.roles import BUCKET_LABEL, Role
from plimsoll.observe.snapshot import GROUP
from plimsoll_placement.model import RoleName

SIZES = f"sizes.{GROUP}/"
"""What the labels of pods begin with that tell the sizes which they take."""
ALL_SIZES = ""
"""The group of a role whose replicas carry all sizes."""
_OF = ":"
"""Between a role and a group; in no name of a role."""

Groups = tuple[str, ...]


def groups_of(job: InferenceJob, role: Role) -> Groups:
    """The groups of a role of which something is wanted; `ALL_SIZES` alone where it has none.

    A role of which a fixed count is wanted has none.
    """
    first = bool(job.spec.roles) and role is job.spec.roles[0]
    if role.requests == "Anywhere" or (first and job.spec.replicas is not None):
        return (ALL_SIZES,)
    loads = next((each.loads for each in job.status.roles if each.name == role.name), ())
    named = {load.size_group or ALL_SIZES for load in loads if load.wanted}
    fits = 1 < len(named) <= role.replicas.max
    return tuple(sorted(named)) if fits else (ALL_SIZES,)


def group_of(place: Assignment, groups: Groups) -> str:
    """The group that a replica is for now; one whose group is no more joins that of its type."""
    wishes = (place.size_group or ALL_SIZES, place.accelerator_type)
    return next((wish for wish in wishes if wish in groups), groups[0])


def loads_of(loads: Sequence[BucketLoad], group: str, groups: Groups) -> Sequence[BucketLoad]:
    """The loads that a group of a role carries."""
    if len(groups) == 1:
        return loads
    return [load for load in loads if (load.size_group or ALL_SIZES) == group]


def part_name(role: str, group: str) -> RoleName:
    """What the solver calls the part of a role that is for a group."""
    return RoleName(f"{role}{_OF}{group}" if group else role)


def whole_role(name: str) -> tuple[str, str]:
    """The role and the group that the solver's name stands for."""
    role, _, group = name.partition(_OF)
    return role, group


def shared_out(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """A number shared out by weights; what is left over goes to the largest remainders."""
    whole = sum(weights.values()) or 1.0
    exact = {name: total * weight / whole for name, weight in weights.items()}
    shares = {name: int(each) for name, each in exact.items()}
    left = total - sum(shares.values())
    for name in sorted(exact, key=lambda name: (shares[name] - exact[name], name))[:left]:
        shares[name] += 1
    return shares


def placed_in_groups(job: InferenceJob, places: Iterable[Assignment]) -> tuple[Assignment, ...]:
    """The places of a job's replicas, each with the group that it is for by the job's status."""
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
    """The labels of a replica's pods, by the sizes of the requests that it takes.

    `serving`: the groups of which replicas are ready. As long as there is none of a group, all
    replicas take its requests.
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
