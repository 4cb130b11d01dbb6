"""Find the selectors that match some labels with a few lookups, however many selectors there are.

Most of a cluster's selectors use the same label keys with different values, such as a node's rack
row. So there is one table per set of keys, indexed by the values.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping


class Selectors:
    """Selectors by name, looked up by the labels that they match."""

    def __init__(self, selectors: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        self._names: list[str] = []
        self._tables: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}
        for place, (name, selector) in enumerate(selectors):
            keys = tuple(sorted(selector))
            table = self._tables.setdefault(keys, defaultdict(list))
            table[tuple(selector[key] for key in keys)].append(place)
            self._names.append(name)

    def matching(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """The names of the selectors whose labels are all present, in insertion order."""
        found: list[int] = []
        for keys, table in self._tables.items():
            values = tuple(labels[key] for key in keys if key in labels)
            if len(values) == len(keys):
                found += table.get(values, ())
        return tuple(self._names[place] for place in sorted(found))
