"""Walks over JSON values from users, whose depth cannot be trusted."""

from collections.abc import Iterable
from typing import Any, cast

# ruff: noqa: ANN401 - values of JSON are of any type


def is_deeper_than(levels: int, value: Any) -> bool:
    """Whether objects and lists are nested more than this many levels deep; never recurses."""
    level = [value]
    for _ in range(levels):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return any(_is_nest(each) for each in level)


def without_nulls(value: Any) -> Any:
    """The value without null fields, which Kubernetes treats as absent.

    Recurses; a null in a list stays, because it counts as an item.
    """
    if isinstance(value, list | tuple):
        return [without_nulls(item) for item in cast("Iterable[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {name: without_nulls(inner) for name, inner in fields if inner is not None}
    return value


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("Iterable[Any]", value) if isinstance(value, list | tuple) else ()


def _is_nest(value: Any) -> bool:
    return isinstance(value, dict | list | tuple)
