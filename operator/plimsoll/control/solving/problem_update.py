"""Send a solver what has changed in a problem, rather than thousands of nodes and jobs each time.

What has not changed stays the same object on the other side as well, so that what is remembered of
it there still holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from plimsoll_placement.model import Job, Node
from plimsoll_placement.problem import Problem

Named = TypeVar("Named", Node, Job)
_FIELDS: Final = tuple(each.name for each in fields(Problem))
_LISTS: Final = ("nodes", "jobs")
_name = attrgetter("name")


@dataclass(frozen=True)
class Difference(Generic[Named]):
    """The items that are new or changed, and the names of those that are gone."""

    changed: tuple[Named, ...] = ()
    gone: frozenset[str] = frozenset()

    def applied(self, before: tuple[Named, ...]) -> tuple[Named, ...]:
        """The items after it, by name; the same tuple if nothing differs."""
        if not (self.changed or self.gone):
            return before
        known = {item.name: item for item in before if item.name not in self.gone}
        known.update((item.name, item) for item in self.changed)
        return tuple(sorted(known.values(), key=_name))


@dataclass(frozen=True, slots=True)
class ProblemUpdate:
    """A problem as it differs from an earlier one: fields, and what they list by name.

    Problems are counted: this one makes the problem `number` of the problem `base`.
    """

    number: int
    base: int
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    nodes: Difference[Node] = field(default_factory=Difference[Node])
    jobs: Difference[Job] = field(default_factory=Difference[Job])

    def applied(self, before: Problem | None) -> Problem:
        """The problem after the update; `before` is not needed if all fields are given."""
        if before is None:
            return Problem(**self.fields)
        known = {name: getattr(before, name) for name in _FIELDS}
        lists: dict[str, Any] = {
            "nodes": self.nodes.applied(before.nodes),
            "jobs": self.jobs.applied(before.jobs),
        }
        return Problem(**{**known, **lists, **self.fields})


def whole(problem: Problem, number: int) -> ProblemUpdate:
    """All of a problem, which needs no other."""
    return ProblemUpdate(number, number, {name: getattr(problem, name) for name in _FIELDS})


def update_of(before: Problem, now: Problem, number: int) -> ProblemUpdate:
    """What turns the last problem into this one, which has this number."""
    others = {
        name: value
        for name in _FIELDS
        if name not in _LISTS and (value := getattr(now, name)) is not getattr(before, name)
    }
    nodes, jobs = difference(before.nodes, now.nodes), difference(before.jobs, now.jobs)
    others |= {} if nodes is not None else {"nodes": now.nodes}
    others |= {} if jobs is not None else {"jobs": now.jobs}
    return ProblemUpdate(
        number, number - 1, others, nodes or Difference[Node](), jobs or Difference[Job]()
    )


def difference(before: tuple[Named, ...], now: tuple[Named, ...]) -> Difference[Named] | None:
    """How two tuples of items differ; None if they are not in the order of their names."""
    if before is now:
        return Difference()
    names = [item.name for item in now]
    if names != sorted(names):
        return None
    known = {item.name: item for item in before}
    changed = tuple(item for item in now if known.get(item.name) is not item)
    return Difference(changed, frozenset(known.keys() - set(names)))
