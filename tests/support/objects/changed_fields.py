"""Objects of which fields are something else: what users, reports and programs may write."""

import copy
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, Final, cast

from plimsoll_devcluster.manifest import Manifest

TEXTS: Final[tuple[str, ...]] = (
    *("", "ü", "\0", "a/b", "x" * 253, "null", "true", "missing", "[]", '{"a": 1}'),
    *("0", "-1", "1n", "9E", "-9E", "1e400", "NaN", "Infinity", "8192", "1000000", "9" * 24),
    *("1h", "-1h", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-13-45T99:99:99Z"),
)
NUMBERS: Final[tuple[float, ...]] = (
    *(0, -1, 1, 0.5, 4097, 65_536, 1_000_000, 2**31 - 1, 2**31, 2**63 - 1, -(2**63), 10**30),
    *(1e308, -1e308),
)
OTHERS: Final[tuple[object, ...]] = (None, True, False, [], {}, [None], [""], {"": ""}, {"a": None})
IDENTITY: Final = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"}
)
PARTS: Final = ("metadata", "spec", "status")
_MAPS: Final = frozenset(
    {"annotations", "labels", "allocatable", "capacity", "nodeSelector", "limits"}
)


def changed(
    rng: Random, raw: Manifest, parts: Iterable[str] = PARTS, *, keeps_types: bool
) -> Manifest:
    """The object with up to three fields of its parts changed or gone, but not what it is called.

    `keeps_types`: a text stays a text and a number a number, as in what an API server has checked.
    """
    found = copy.deepcopy(raw)
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = [place for part in parts for place in _within(found.get(part))]
        if places:
            _change(rng, *rng.choice(places), keeps_types=keeps_types)
    return found


def _within(value: object) -> Iterator[tuple[Any, Any]]:
    """All fields and entries, each as what holds it and its key there."""
    match value:
        case dict():
            inner = cast("Manifest", value)
            keys = [key for key in inner if key not in IDENTITY]
            yield from ((inner, key) for key in keys)
            for key in keys:
                yield from _within(inner[key])
        case list():
            entries = cast("list[Any]", value)
            yield from ((entries, index) for index in range(len(entries)))
            for each in entries:
                yield from _within(each)
        case _:
            pass


def _change(rng: Random, held: Any, key: Any, *, keeps_types: bool) -> None:  # noqa: ANN401 - JSON
    old = held[key]
    if rng.random() < 0.15:
        del held[key]
    elif isinstance(old, dict) and key in _MAPS:
        entries = cast("Manifest", old)
        entries[rng.choice([*entries, "a"])] = rng.choice(TEXTS)
    elif not keeps_types and rng.random() < 0.3:
        held[key] = copy.deepcopy(rng.choice((*TEXTS, *NUMBERS, *OTHERS)))
    else:
        held[key] = _of_its_type(rng, cast("object", old))


def _of_its_type(rng: Random, old: object) -> object:
    match old:
        case bool():
            return not old
        case str():
            return rng.choice(TEXTS)
        case int() | float():
            return rng.choice(NUMBERS)
        case list():
            several = cast("list[object]", old)
            return rng.choice(([], [*several, *copy.deepcopy(several)]))
        case _:
            return {}
