"""Keep how many pods fit on each node, and renew it only where pods came or went since.

Of thousands of requests many are alike, and each changes a node or two.
"""

from collections.abc import Callable, Hashable
from typing import Final

import numpy as np

from plimsoll_placement.state.device_pool import ALL, DevicePool, Ints, Positions

MOST_CELLS: Final = 1 << 20
"""All that is kept, in rows: 8 MiB. Beyond it, what was made first is forgotten."""
MOST_CHANGES: Final = 1 << 16
"""After so many, everything is worked out anew."""

MOST_PIECEMEAL: Final = 4
"""Where there were more changes than a device pool's rows by this, all rows are renewed at once."""


class Rooms:
    """The room on the rows of device pools, by whatever else it depends on."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Ints, int]] = {}
        """What was found, and how many changes it takes into account."""
        self._changed: list[int] = []
        """The node of each change."""
        self._cells = 0

    def change(self, row: int) -> None:
        """Note that something else is free on a node."""
        self._changed.append(row)

    def of(self, device_pool: DevicePool, key: Hashable, room: Callable[[Positions], Ints]) -> Ints:
        """What `room` says of all rows of a device pool; it is only asked about what has changed.

        The array is the caller's own.
        """
        if len(self._changed) > MOST_CHANGES:
            self._forget_all()
        key = id(device_pool), key
        known = self._known.get(key)
        if known is None:
            found = room(ALL)
            self._keep(key, found)
            return found.copy()
        found, seen = known
        if len(self._changed) - seen > len(found) // MOST_PIECEMEAL:
            found = room(ALL)
        elif seen < len(self._changed):
            position = device_pool.position
            changed = {position[row] for row in self._changed[seen:] if row in position}
            if changed:
                at = np.fromiter(changed, dtype=np.int64, count=len(changed))
                found[at] = room(at)
        self._known[key] = found, len(self._changed)
        return found.copy()

    def _keep(self, key: Hashable, found: Ints) -> None:
        self._cells += len(found)
        while self._cells > MOST_CELLS and self._known:
            first, _ = self._known.pop(next(iter(self._known)))
            self._cells -= len(first)
        self._known[key] = found, len(self._changed)

    def _forget_all(self) -> None:
        self._known.clear()
        self._changed.clear()
        self._cells = 0
