"""Move replicas that run to GPUs where there is more memory for their load, if that pays.

A move is priced as a replica's start: its load times the seconds that a start counts for. It gains
what requests then wait less, for as long as plans count gains: waiting is taken to be in proportion
to the pressure, and as long as a request itself takes on the GPU that the replica leaves. What
requests wait more on the other GPU is taken off.

A replica serves on until its successor does, so both take memory: a move goes where there is room
now, and never in a circle. Only replicas whose load is known move, one of a job at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import nsmallest
from itertools import islice
from typing import Final

from plimsoll_placement.model import JobName, NodeName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.price import pays
from plimsoll_placement.sharing.seats import Comparable, Seated, Seats

MOST_MOVES: Final = 4
"""How many replicas one plan moves among comparable nodes."""
MOST_LOOKED_AT: Final = 16
"""How many GPUs under most pressure are looked at, and for a replica how many under least."""
LEAST_GAIN: Final = Fraction(1, 10)
"""The share of its pressure that a GPU must lose by a move: loads change by less all the time."""


@dataclass(frozen=True, slots=True)
class Move:
    """A replica, and the node that it moves to."""

    pod: Seated
    to: NodeName


@dataclass(frozen=True, slots=True)
class _Filled:
    """A node with the memory and load of what will be there.

    `known_free_bytes` is what known weights leave until what moves away has gone, as `arrived`
    replicas that move here find it.
    """

    seats: Seats
    free_bytes: int
    known_free_bytes: int
    load: int
    arrived: int = 0

    @property
    def pressure(self) -> Fraction | None:
        """The pressure; None without memory left."""
        return Fraction(self.load, self.free_bytes) if self.free_bytes > 0 else None


def paying_moves(problem: Problem, nodes: Comparable) -> Iterator[Move]:
    """Moves that pay, each beside those before; from the GPUs under most pressure first."""
    filled = [_filled(nodes, seats) for seats in nodes.seats]
    moved: set[JobName] = set()
    for _ in range(MOST_MOVES):
        found = _best_move(problem, nodes, filled, moved)
        if found is None:
            return
        source, target, pod = found
        moved.add(pod.job.whole_name)
        filled[source] = _changed(nodes, filled[source], pod, -1)
        filled[target] = _changed(nodes, filled[target], pod, 1)
        yield Move(pod, filled[target].seats.node.name)


def _filled(nodes: Comparable, seats: Seats) -> _Filled:
    weights = sum(seats.weights_bytes(pod.role) for pod in seats.pods)
    known = sum(pod.role.shape.gpu_memory_bytes for pod in seats.pods)
    return _Filled(
        seats,
        seats.memory_bytes - weights,
        seats.node.gpu_memory_bytes - known,
        sum(nodes.load(pod.role) for pod in seats.pods),
    )


def _best_move(
    problem: Problem, nodes: Comparable, filled: Sequence[_Filled], moved: Iterable[JobName]
) -> tuple[int, int, Seated] | None:
    """The move that lowers the largest pressure most for the first GPU where one pays."""
    known = [(here, place) for place, each in enumerate(filled) if (here := each.pressure)]
    least_first = sorted(range(len(filled)), key=lambda at: (filled[at].pressure or 0, at))
    for _, source in nsmallest(MOST_LOOKED_AT, ((-here, place) for here, place in known)):
        options = [
            (worst, place, order)
            for order, pod in enumerate(filled[source].seats.pods)
            if _may_go(pod) and pod.job.whole_name not in moved
            for place in islice(_with_room(filled, least_first, source, pod), MOST_LOOKED_AT)
            if (worst := _worst_after(problem, nodes, filled[source], filled[place], pod))
        ]
        if options:
            _, place, order = min(options)
            return source, place, filled[source].seats.pods[order]
    return None


def _with_room(
    filled: Sequence[_Filled], order: Iterable[int], source: int, pod: Seated
) -> Iterator[int]:
    """The other nodes that have room for a pod, in an order."""
    return (place for place in order if place != source and _has_room(filled[place], pod))


def _may_go(pod: Seated) -> bool:
    return pod.may_move and pod.is_settled and bool(pod.role.load_nano)


def _worst_after(
    problem: Problem, nodes: Comparable, source: _Filled, target: _Filled, pod: Seated
) -> Fraction | None:
    """The larger pressure on both GPUs after a move that has room; None if it does not pay."""
    left, joined = _changed(nodes, source, pod, -1), _changed(nodes, target, pod, 1)
    before, less, more = source.pressure, left.pressure, joined.pressure
    if before is None or less is None or more is None:
        return None
    worst = max(less, more)
    if worst > (1 - LEAST_GAIN) * before:
        return None
    load, other = nodes.load(pod.role), target.pressure or Fraction(0)
    shorter = left.load * (before - less) + load * (before - more) - target.load * (more - other)
    gained = int(shorter / before * problem.weights.horizon_seconds)
    return worst if pays(problem, gained, load * pod.job.stop_seconds) else None


def _has_room(target: _Filled, pod: Seated) -> bool:
    seats, shape = target.seats, pod.role.shape
    return bool(
        seats.takes_more
        and pod.role.eligible >> seats.row & 1
        and shape.gpu_memory_bytes <= min(target.known_free_bytes, seats.node.gpu_memory_each_bytes)
        and seats.room(shape) > target.arrived
    )


def _changed(nodes: Comparable, at: _Filled, pod: Seated, count: int) -> _Filled:
    """The node with a pod more, or less."""
    arrived = max(0, count)
    known = pod.role.shape.gpu_memory_bytes * arrived
    return _Filled(
        at.seats,
        at.free_bytes - count * at.seats.weights_bytes(pod.role),
        at.known_free_bytes - known,
        at.load + count * nodes.load(pod.role),
        at.arrived + arrived,
    )
