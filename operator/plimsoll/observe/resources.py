"""The custom resources of a snapshot: by kind, each kind in the order of namespace and name."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar, cast

from plimsoll.api.resource import Resource

R = TypeVar("R", bound=Resource)


class ByKind:
    """Resources in order, by kind."""

    def __init__(self, ordered: Sequence[Resource]) -> None:
        self._found: defaultdict[type[Resource], list[Resource]] = defaultdict(list)
        for each in ordered:
            self._found[type(each)].append(each)

    def all(self, kind: type[R]) -> tuple[R, ...]:
        """All of a kind."""
        return tuple(cast("list[R]", self._found[kind]))


class Ordering:
    """Puts resources in order; it need not sort those that only have another content."""

    def __init__(self) -> None:
        self._before: Sequence[Resource] = ()
        self._order: list[int] = []
        self.are_the_same = False
        """Whether the last resources differed from those before at most in their content."""

    def of(self, resources: Sequence[Resource]) -> Sequence[Resource]:
        """The resources by namespace and name."""
        self.are_the_same = self._are_the_same(resources)
        if not self.are_the_same:
            self._order = sorted(range(len(resources)), key=lambda at: _identity(resources[at]))
        self._before = resources
        return [resources[at] for at in self._order]

    def _are_the_same(self, resources: Sequence[Resource]) -> bool:
        return len(resources) == len(self._before) and all(
            now is before or _identity(now) == _identity(before)
            for now, before in zip(resources, self._before, strict=True)
        )


def _identity(resource: Resource) -> tuple[str, str, str]:
    meta = resource.metadata
    return meta.namespace, meta.name, meta.uid
