"""The custom resources of a snapshot: by kind, each kind in the order of namespace and name."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar, cast

from plimsoll.api.resource import Resource
from plimsoll.observe.kept import same

R = TypeVar("R", bound=Resource)
_Found = Mapping[type[Resource], tuple[Resource, ...]]
_NONE: Final[_Found] = MappingProxyType({})


class ByKind:
    """Resources in order, by kind; the same tuple as `before` if a kind has the same objects."""

    def __init__(self, ordered: Sequence[Resource], before: "ByKind | None" = None) -> None:
        found: defaultdict[type[Resource], list[Resource]] = defaultdict(list)
        for each in ordered:
            found[type(each)].append(each)
        known = _NONE if before is None else before.found
        self.found: _Found = {
            kind: known[kind] if same(known.get(kind, ()), all_) else tuple(all_)
            for kind, all_ in found.items()
        }

    def all(self, kind: type[R]) -> tuple[R, ...]:
        """All of a kind."""
        return cast("tuple[R, ...]", self.found.get(kind, ()))


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
