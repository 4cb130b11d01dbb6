"""Placements with their names resolved: what the rules read."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from plimsoll_placement.model import (
    Assignment,
    Assignments,
    Job,
    Node,
    NodeName,
    Role,
    RoleName,
)


@dataclass(frozen=True, slots=True)
class PlacedReplica:
    """One assignment with the role and the nodes it names."""

    assignment: Assignment
    role: Role
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class PlacedJob:
    """A job with its replicas; `unknown` lists the names in its assignments that match nothing.

    `is_held`: the job is pinned and stands exactly where it runs. The plan had no say in it, so any
    limit that it exceeds is not the plan's fault.
    """

    job: Job
    replicas: tuple[PlacedReplica, ...]
    unknown: tuple[str, ...]
    is_held: bool


def placed_job(job: Job, assignments: Assignments, nodes: Mapping[NodeName, Node]) -> PlacedJob:
    """A job with its assignments, their names looked up."""
    roles = {role.name: role for role in job.roles}
    return PlacedJob(
        job=job,
        replicas=tuple(_placed_replicas(assignments, roles, nodes)),
        unknown=tuple(_unknown_names(assignments, roles, nodes)),
        is_held=job.pinned and is_same(assignments, job.running),
    )


def is_same(assignments: Assignments, running: Assignments) -> bool:
    """Whether both hold the same replicas on the same nodes, in any order."""
    return len(assignments) == len(running) and set(assignments) == set(running)


def _placed_replicas(
    assignments: Iterable[Assignment],
    roles: Mapping[RoleName, Role],
    nodes: Mapping[NodeName, Node],
) -> Iterator[PlacedReplica]:
    for assignment in assignments:
        role = roles.get(assignment.role)
        if role is not None:
            known = tuple(nodes[name] for name in assignment.nodes if name in nodes)
            yield PlacedReplica(assignment, role, known)


def _unknown_names(
    assignments: Iterable[Assignment],
    roles: Mapping[RoleName, Role],
    nodes: Mapping[NodeName, Node],
) -> Iterator[str]:
    for assignment in assignments:
        if assignment.role not in roles:
            yield f"role {assignment.role}"
        for name in assignment.nodes:
            if name not in nodes:
                yield f"node {name}"
