"""Keep what was worked out from frozen objects, for as long as these are the same objects.

A snapshot shares what has not changed with the last one, so that a change costs its neighbourhood.
What is kept saves work and decides nothing: it is what would be worked out again.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, TypeVarTuple

Given = TypeVarTuple("Given")
Key = TypeVar("Key")
Found = TypeVar("Found")


class Kept(Generic[Found]):
    """The last result of a pure function of sequences of frozen objects."""

    def __init__(self) -> None:
        self._known: tuple[tuple[Sequence[object], ...], Found] | None = None

    def of(self, make: Callable[[], Found], *given: Sequence[object]) -> Found:
        """What `make` returns, called only if one of the sequences that it works on has changed."""
        known = self._known
        if known is None or not all(map(same, known[0], given)):
            known = self._known = given, make()
        return known[1]


class Memo:
    """The last results of pure functions, for as long as they are given the same objects.

    Of each function two are remembered: a plan looks at the nodes as they are, and as they will be
    once pods have gone.
    """

    def __init__(self) -> None:
        self._known: dict[object, tuple[tuple[tuple[object, ...], Any], ...]] = {}

    def of(self, function: Callable[[*Given], Found], *given: *Given) -> Found:
        """What the function returns for these frozen objects."""
        known = self._known.get(function, ())
        for before, found in known:
            if all(map(operator.is_, before, given)):
                return found
        found = function(*given)
        self._known[function] = ((given, found), *known[:1])
        return found


def same(some: Sequence[object], others: Sequence[object]) -> bool:
    """Whether two sequences consist of the same objects."""
    if some is others:
        return True
    return len(some) == len(others) and all(map(operator.is_, some, others))


def changed(before: Mapping[Key, object], now: Mapping[Key, object]) -> set[Key]:
    """The keys that are new, gone, or have another object."""
    if before is now:
        return set()
    return {key for key in before.keys() | now.keys() if before.get(key) is not now.get(key)}
