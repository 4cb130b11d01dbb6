"""Memoise functions of frozen objects: computed once per object, forgotten with it.

Resources are frozen, and each change brings a new one. A snapshot shares the unchanged ones with
the last, so that a turn costs nothing for what it has seen before.
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

Thing = TypeVar("Thing")
Found = TypeVar("Found")


def once_for_each(function: Callable[[Thing], Found]) -> Callable[[Thing], Found]:
    """The same function of a frozen object, called once per object while that exists."""
    known: dict[int, tuple[ref[Thing], Found]] = {}

    @wraps(function)
    def remembered(thing: Thing) -> Found:
        place = id(thing)
        before = known.get(place)
        if before is not None and before[0]() is thing:
            return before[1]
        found = function(thing)
        known[place] = ref(thing, lambda _: known.pop(place, None)), found
        return found

    return remembered
