"""The tree of Cohorts with their ClusterQueues, which becomes a tree of JobQueues.

ClusterQueues keep their names, since jobs say them. A Cohort of the same name gets another one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll.cli.importing.given import is_name
from plimsoll.cli.importing.kueue.given import Given
from plimsoll.cli.importing.kueue.objects import ClusterQueue, Cohort, ResourceGroup
from plimsoll.cli.importing.notes import Note, note

_PREFIX: Final = "cohort-"


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A JobQueue to be: its name, its parent's, and what it is made of; None if implied."""

    name: str
    parent: str | None
    source: ClusterQueue | Cohort | None

    @property
    def groups(self) -> Sequence[ResourceGroup]:
        """Its own quotas."""
        return self.source.spec.resource_groups if self.source else ()


@dataclass(frozen=True, slots=True)
class Tree:
    """The members, each after its parent."""

    members: tuple[Member, ...]
    notes: tuple[Note, ...]


def tree(given: Given) -> Tree:
    """The members, without parents that do not exist or lead in a circle."""
    notes: list[Note] = []
    above = {name: _above(each, notes) for name, each in given.cohorts.items()}
    tops = {name: _above(each, notes) for name, each in given.cluster_queues.items()}
    # A Cohort need not exist: any name makes one.
    above |= {each: "" for each in (*above.values(), *tops.values()) if each and each not in above}
    for name in _in_circles(above):
        notes.append(note(given.cohorts[name], "spec.parentName: leads in a circle: correct it"))
        above[name] = ""
    names = _names(given, above, notes)
    cohorts = [
        Member(names[each], names.get(above[each]), given.cohorts.get(each))
        for each in _downwards(above)
    ]
    queues = [Member(name, names.get(tops[name]), q) for name, q in given.cluster_queues.items()]
    return Tree((*cohorts, *queues), tuple(notes))


def _above(each: ClusterQueue | Cohort, notes: list[Note]) -> str:
    """The name of the Cohort above; "" without a usable one."""
    if not each.parent or is_name(each.parent):
        return each.parent
    field = "cohortName" if isinstance(each, ClusterQueue) else "parentName"
    notes.append(note(each, f"spec.{field}: {each.parent} is no name of an object: correct it"))
    return ""


def _in_circles(above: Mapping[str, str]) -> list[str]:
    """The Cohorts that are above themselves."""
    found: set[str] = set()
    over: set[str] = set()
    for start in above:
        path: dict[str, None] = {}
        at = start
        while at and at not in over and at not in path:
            path[at] = None
            at = above[at]
        if at in path:
            way = [*path]
            found.update(way[way.index(at) :])
        over.update(path)
    return sorted(found)


def _names(given: Given, above: Mapping[str, str], notes: list[Note]) -> dict[str, str]:
    """The JobQueue of each Cohort."""
    names: dict[str, str] = {}
    taken = {*given.cluster_queues}
    for cohort in sorted(above, key=lambda each: (each in taken, each)):
        name = cohort
        while name in taken:
            name = f"{_PREFIX}{name}"
        taken.add(name)
        names[cohort] = name
        if name != cohort:
            text = f"metadata.name: a ClusterQueue has it too: the Cohort is JobQueue {name}"
            notes.append(Note(f"Cohort {cohort}", text))
    return names


def _downwards(above: Mapping[str, str]) -> Iterator[str]:
    """The Cohorts by depth and name."""
    depths: dict[str, int] = {"": 0}
    for start in above:
        path: list[str] = []
        at = start
        while at not in depths:
            path.append(at)
            at = above[at]
        for each in reversed(path):
            depths[each] = depths[above[each]] + 1
    del depths[""]
    yield from sorted(depths, key=lambda each: (depths[each], each))
