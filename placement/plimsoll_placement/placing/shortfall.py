"""What a role still lacks: how many replicas, for how much load, and which indices are free."""

import itertools
from collections.abc import Iterator

from plimsoll_placement.model import Assignment, Assignments, Role


def below_least(role: Role, placed: Assignments) -> int:
    """How many replicas a role lacks before it is of use."""
    return max(0, role.least - count(role, placed))


def missing(role: Role, placed: Assignments) -> int:
    """The fewest replicas of a role that remain to be placed; 0 if it has enough."""
    held = count(role, placed)
    if held < role.least:
        return role.least - held
    return int(held < role.counts[-1] and lacking_load(role, placed) > 0)


def lacking_load(role: Role, placed: Assignments) -> int:
    """How much of what is wanted the placed replicas do not carry; negative if they carry more.

    In units of the role's `fineness`.
    """
    mine = [role.carries(a.gpu_type) for a in placed if a.role == role.name]
    carried = sum(mine)
    if len(mine) < role.wanted_count:
        carried = min(carried, role.wanted_load * len(mine) // role.wanted_count)
    return role.wanted_load - carried


def share_carried(role: Role, placed: Assignments) -> float:
    """The share of what is wanted that the placed replicas of a role carry."""
    return 1 - lacking_load(role, placed) / max(role.wanted_load, 1)


def count(role: Role, placed: Assignments | list[Assignment]) -> int:
    """How many replicas of a role are placed."""
    return sum(assignment.role == role.name for assignment in placed)


def free_index(role: Role, placed: Assignments) -> int:
    """The smallest replica index of a role that is not in use."""
    return next(free_indices(role, placed))


def free_indices(role: Role, placed: Assignments) -> Iterator[int]:
    """The unused replica indices of a role, smallest first, without end."""
    used = {a.replica for a in placed if a.role == role.name}
    return (index for index in itertools.count() if index not in used)
