"""Seat replicas that share GPUs where they do least to each other, once it is decided who runs.

Searches for a plan count the shares of GPUs and the memory that weights take, and are done when all
fit. Which of them share a GPU is then chosen here, among places that are worth the same otherwise:
for all that start, so that the largest pressure is least (see `sharing.py`), and for replicas that
run where a move pays (see `moving.py`). Without parts of GPUs nothing is done.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from plimsoll_placement.check import violations
from plimsoll_placement.effort import SHARING_STATES
from plimsoll_placement.model import Assignment, Assignments, JobName, Placements, Shape
from plimsoll_placement.problem import Problem
from plimsoll_placement.sharing.moving import Move, paying_moves
from plimsoll_placement.sharing.pressure import largest
from plimsoll_placement.sharing.problem import (
    Groups,
    SharedGpu,
    Sharer,
    Sharing,
    SharingProblem,
)
from plimsoll_placement.sharing.seats import (
    Comparable,
    Seated,
    Seats,
    comparable_nodes,
    shares_gpus,
)
from plimsoll_placement.sharing.sharing import shared
from plimsoll_placement.solution import Pressure, Solution

BYTES_PER_GIB = 1 << 30
LOAD_UNIT = 10**9


@dataclass(frozen=True, slots=True)
class _Change:
    """A replica that gets another node."""

    job: JobName
    was: Assignment
    now: Assignment


def with_seats(problem: Problem, found: Solution, most_states: int = SHARING_STATES) -> Solution:
    """The solution, with replicas that share GPUs where they do least to each other.

    What that changes in the score is what moves cost, which is paid for by itself; the score stays
    as it was found.
    """
    if not shares_gpus(problem):
        return found
    started, pressure = _started(problem, found.placements, most_states)
    if started is not found.placements and violations(problem, started):
        started, pressure = found.placements, None
    found = replace(found, placements=started, pressure=pressure)
    moves = [m for each in comparable_nodes(problem, started) for m in paying_moves(problem, each)]
    moved = _changed(started, [_of_move(each) for each in moves])
    if not moves or violations(problem, moved):
        return found
    return replace(found, placements=moved, reseated=frozenset(m.pod.job.name for m in moves))


def _started(
    problem: Problem, placements: Placements, most_states: int
) -> tuple[Placements, Pressure | None]:
    """The placements with all that starts seated anew, and the largest pressure where it does."""
    changes: list[_Change] = []
    worst: Pressure | None = None
    for nodes in comparable_nodes(problem, placements):
        starting = [pod for seats in nodes.seats for pod in seats.pods if not pod.is_settled]
        starting = [pod for pod in starting if pod.may_move]
        if not starting:
            continue
        posed, now = _posed(nodes, starting)
        found = shared(posed, now, most_states)
        if isinstance(found, Sharing):
            if found.pressure < (largest(posed, now) or found.pressure + 1):
                changes += _changes(nodes, starting, found.groups)
            reached = Pressure(_per_gib(found.pressure), _per_gib(found.bound))
            worst = reached if worst is None else max(worst, reached, key=lambda p: p.reached)
    return _changed(placements, changes), worst


def _posed(nodes: Comparable, starting: Sequence[Seated]) -> tuple[SharingProblem, Groups]:
    """Who shares GPUs as a problem of its own, and the groups that there are now."""
    ids = {id(pod) for pod in starting}
    largest_shape = _largest([pod.role.shape for pod in starting])
    gpus: list[SharedGpu] = []
    groups: list[tuple[int, ...]] = []
    number = {id(pod): place for place, pod in enumerate(starting)}
    for seats in nodes.seats:
        mine = [pod for pod in seats.pods if id(pod) in ids]
        stay = [pod for pod in seats.pods if id(pod) not in ids]
        takes = seats.takes_more or bool(mine)
        gpus.append(
            SharedGpu(
                seats.memory_bytes - sum(seats.weights_bytes(pod.role) for pod in stay),
                sum(nodes.load(pod.role) for pod in stay),
                max(len(mine), seats.room(largest_shape, without=mine)) if takes else 0,
                seats.node.gpu_memory_each_bytes,
            )
        )
        groups.append(tuple(number[id(pod)] for pod in mine))
    masks = {each: _mask(nodes.seats, each) for each in {pod.role.eligible for pod in starting}}
    sharers = tuple(
        Sharer(
            nodes.seats[0].weights_bytes(pod.role),
            nodes.load(pod.role),
            masks[pod.role.eligible],
        )
        for pod in starting
    )
    return SharingProblem(sharers, tuple(gpus)), tuple(groups)


def _largest(shapes: Sequence[Shape]) -> Shape:
    return Shape(
        1,
        max(shape.cpu_millis for shape in shapes),
        max(shape.memory_bytes for shape in shapes),
    )


def _mask(seats: Sequence[Seats], eligible: int) -> int:
    return sum((eligible >> each.row & 1) << place for place, each in enumerate(seats))


def _changes(nodes: Comparable, starting: Sequence[Seated], groups: Groups) -> list[_Change]:
    found: list[_Change] = []
    for seats, group in zip(nodes.seats, groups, strict=True):
        for place in group:
            pod = starting[place]
            if pod.assignment.nodes != (seats.node.name,):
                now = replace(pod.assignment, nodes=(seats.node.name,))
                found.append(_Change(pod.job.name, pod.assignment, now))
    return found


def _of_move(move: Move) -> _Change:
    pod = move.pod
    return _Change(pod.job.name, pod.assignment, replace(pod.assignment, nodes=(move.to,)))


def _changed(placements: Placements, changes: Sequence[_Change]) -> Placements:
    if not changes:
        return placements
    by_job: dict[JobName, dict[Assignment, Assignment]] = defaultdict(dict)
    for each in changes:
        by_job[each.job][each.was] = each.now
    return {name: _renewed(held, by_job.get(name, {})) for name, held in placements.items()}


def _renewed(held: Assignments, changes: dict[Assignment, Assignment]) -> Assignments:
    return tuple(changes.get(each, each) for each in held) if changes else held


def _per_gib(pressure: Fraction) -> float:
    return float(pressure * BYTES_PER_GIB / LOAD_UNIT)
