"""What one problem leaves for the next: most of its nodes and jobs are still the same.

Whoever derives something from nodes and jobs keeps it in a part of its own, by the very objects it
was derived from. A part finds out by itself what has changed since, and forgets that.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar, cast

from plimsoll_placement.model import Job, Node

T = TypeVar("T")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


class Parts:
    """What is derived from something, by its kind, for as long as that is there."""

    def __init__(self) -> None:
        self._parts: dict[type[object], object] = {}

    def part(self, kind: type[T]) -> T:
        """The part of a kind, made when it is first asked for."""
        found = self._parts.get(kind)
        if found is None:
            found = self._parts[kind] = kind()
        return cast("T", found)


class Memory(Parts):
    """The parts by their kind, and the nodes and jobs of the last problem."""

    def __init__(self) -> None:
        super().__init__()
        self._nodes: tuple[Node, ...] = ()
        self._jobs: tuple[Job, ...] = ()

    def of_nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The nodes, those that equal their predecessors as the same objects as before."""
        self._nodes = _same_objects(self._nodes, nodes)
        return self._nodes

    def of_jobs(self, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
        """The same for jobs."""
        self._jobs = _same_objects(self._jobs, jobs)
        return self._jobs


def _same_objects(before: tuple[N, ...], now: tuple[N, ...]) -> tuple[N, ...]:
    if before is now:
        return now
    known = {each.name: each for each in before}
    found = tuple(_same_object(known.get(each.name), each) for each in now)
    are_same = len(found) == len(before) and all(a is b for a, b in zip(found, before, strict=True))
    return before if are_same else found


def _same_object(before: N | None, now: N) -> N:
    return before if before is not None and (before is now or before == now) else now


def changed_rows(before: Sequence[Node], now: Sequence[Node]) -> list[int] | None:
    """The positions of nodes that are another object than before; None if others are there."""
    if len(before) != len(now):
        return None
    rows = [row for row, (a, b) in enumerate(zip(before, now, strict=True)) if a is not b]
    return rows if all(before[row].name == now[row].name for row in rows) else None
