"""How an API server changes objects: merge patches, JSON patches, and applying conditions.

Objects are never changed in place.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard, cast

from plimsoll.errors import Invalid

Raw = dict[str, Any]
"""An object, or a part of one."""


def merged(old: Mapping[str, Any], patch: Mapping[str, Any]) -> Raw:
    """The object after a JSON merge patch (RFC 7396)."""
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = merged(_part(new, key), value) if _is_raw(value) else value
    return new


def applied(old: Mapping[str, Any], wanted: Mapping[str, Any]) -> Raw:
    """The object after server-side apply; lists of conditions are merged by their type."""
    new = dict(old)
    for key, value in wanted.items():
        if key == "conditions":
            new[key] = _with_conditions(new.get(key, ()), value)
        else:
            new[key] = applied(_part(new, key), value) if _is_raw(value) else value
    return new


def operated(old: Mapping[str, Any], operations: Iterable[Mapping[str, Any]]) -> Raw:
    """The object after a JSON patch (RFC 6902).

    Raises Invalid if a test fails, or what is to be removed is not there.
    """
    new = dict(old)
    for each in operations:
        keys = [key.replace("~1", "/").replace("~0", "~") for key in each["path"].split("/")[1:]]
        new = cast("Raw", _operated(new, keys, each))
    return new


def _operated(old: object, keys: Sequence[str], operation: Mapping[str, Any]) -> object:
    key, *rest = keys
    if isinstance(old, list):
        items = [*cast("list[object]", old)]
        at = len(items) if key == "-" else int(key)
        if rest:
            items[at] = _operated(items[at], rest, operation)
        elif operation["op"] == "add":
            items.insert(at, operation["value"])
        elif operation["op"] == "remove":
            del items[at]
        else:
            raise Invalid(f"{operation['op']} of a list's item is not done here", status=400)
        return items
    fields = dict(cast("Raw", old))
    if rest:
        fields[key] = _operated(fields[key], rest, operation)
    elif operation["op"] == "test":
        if fields.get(key) != operation.get("value"):
            raise Invalid(f"the test of {operation['path']} failed", status=422)
    elif operation["op"] == "remove":
        if key not in fields:
            raise Invalid(f"there is no {operation['path']} to remove", status=422)
        del fields[key]
    else:
        fields[key] = operation["value"]
    return fields


def _with_conditions(old: Iterable[Raw], wanted: Iterable[Raw]) -> list[Raw]:
    by_type = {each["type"]: each for each in old}
    for each in wanted:
        by_type[each["type"]] = {**by_type.get(each["type"], {}), **each}
    return [*by_type.values()]


def _part(of: Mapping[str, Any], key: str) -> Raw:
    found = of.get(key)
    return found if _is_raw(found) else {}


def _is_raw(value: object) -> TypeGuard[Raw]:
    return isinstance(value, dict)
