"""Which of many selectors match some labels? Answered by a few look-ups, however many there are.

Most of a cluster's selectors name the same labels with other values, such as the row of a node. So
for each set of labels that any of them names there is one table, by the values.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping


class Selectors:
    """Selectors by name, to be found by what they match."""

    def __init__(self, selectors: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        self._names: list[str] = []
        self._tables: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}
        for place, (name, selector) in enumerate(selectors):
            keys = tuple(sorted(selector))
            table = self._tables.setdefault(keys, defaultdict(list))
            table[tuple(selector[key] for key in keys)].append(place)
            self._names.append(name)

    def matching(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """The names of those of which all labels are there, in the order in which they came."""
        found: list[int] = []
        for keys, table in self._tables.items():
            values = tuple(labels[key] for key in keys if key in labels)
            if len(values) == len(keys):
                found += table.get(values, ())
        return tuple(self._names[place] for place in sorted(found))
