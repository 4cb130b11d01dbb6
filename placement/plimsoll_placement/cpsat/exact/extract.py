"""From values of the variables to assignments, and from present assignments to a hint."""

from collections.abc import Iterator, Sequence

from ortools.sat.python.cp_model import IntVar

from plimsoll_placement.cpsat.exact.variables import Batch, Variables
from plimsoll_placement.model import Assignment, Assignments, JobName, NodeName
from plimsoll_placement.score.worth import crosses


def assignments_of(variables: Variables, values: Sequence[int]) -> dict[JobName, Assignments]:
    """What each job of the scope holds by these values; a job that waits is not named."""
    found: dict[JobName, list[Assignment]] = {}
    for kept in variables.kept:
        if values[kept.stays.index]:
            found.setdefault(kept.job.name, []).extend(kept.assignments)
    for batch in variables.batches:
        held = found.setdefault(batch.job.name, [])
        held.extend(_new_assignments(variables, batch, values, held))
    return {name: tuple(held) for name, held in found.items() if held}


def _new_assignments(
    variables: Variables, batch: Batch, values: Sequence[int], held: Sequence[Assignment]
) -> Iterator[Assignment]:
    """New replicas under unused numbers; pods on spot nodes are put together."""
    nodes, size = variables.remains.scope.problem.nodes, batch.role.pods_per_replica
    rows = sorted(batch.pods, key=lambda row: (not nodes[row].spot, row))
    names = [nodes[row].name for row in rows for _ in range(values[batch.pods[row].index])]
    used = {assignment.replica for assignment in held if assignment.role == batch.role.name}
    unused = (number for number in range(len(used) + len(names)) if number not in used)
    for start, number in zip(range(0, len(names), size), unused, strict=False):
        pods: tuple[NodeName, ...] = tuple(names[start : start + size])
        yield Assignment(batch.role.name, number, batch.gpu_type, pods)


def hints(variables: Variables) -> Iterator[tuple[IntVar, int]]:
    """The values that express what the jobs of the scope hold now."""
    scope = variables.remains.scope
    stayed: set[tuple[JobName, Assignment]] = set()
    for kept in variables.kept:
        now = scope.placements.get(kept.job.name, ())
        stays = set(kept.assignments) <= set(now) and (
            not kept.job.gang or len(now) == len(kept.assignments)
        )
        yield kept.stays, int(stays)
        if stays:
            stayed.update((kept.job.name, assignment) for assignment in kept.assignments)
    for batch in variables.batches:
        now = scope.placements.get(batch.job.name, ())
        yield from _batch_hints(
            variables, batch, [a for a in now if (batch.job.name, a) not in stayed]
        )
    for service in variables.services:
        yield service.runs, int(bool(scope.placements.get(service.job.name)))


def _batch_hints(
    variables: Variables, batch: Batch, assignments: Sequence[Assignment]
) -> Iterator[tuple[IntVar, int]]:
    problem = variables.remains.scope.problem
    mine = [a for a in assignments if (a.role, a.gpu_type) == (batch.role.name, batch.gpu_type)]
    rows = [problem.node_index[name] for assignment in mine for name in assignment.nodes]
    for row, count in batch.pods.items():
        yield count, rows.count(row)
    is_split = any(size.crosses for size in batch.sizes) and crosses(
        problem, batch.job, (problem.nodes[row].name for row in rows)
    )
    counts, reached = batch.job.roles[0].counts, batch.job.size(assignments)
    for size in batch.sizes:
        is_chosen = bool(mine) and counts[size.place] == reached and size.crosses == is_split
        yield size.chosen, int(is_chosen)
