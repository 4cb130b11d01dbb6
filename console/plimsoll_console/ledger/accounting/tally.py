"""Amounts by the hour, as they add up."""

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from plimsoll_console.ledger.accounting.observation import MS_PER_HOUR, Account, Place

WHOLE_GPU_MILLI: Final = 1000


class Use(IntEnum):
    """What GPU time went into. The numbers are kept in databases."""

    USEFUL = 1
    """A job's pod that worked or served."""
    STARTING = 2
    """A job's pod that started, or was not ready."""
    LOST = 3
    """A job's pod whose work a disruption threw away."""
    RESERVED = 4
    """Kept for a job whose pod was not there yet, or was about to end."""
    IDLE = 5
    """Free."""
    UNUSABLE = 6
    """Free on a node that took no pods: not ready, cordoned or quarantined."""
    FOREIGN = 7
    """Pods that are not Plimsoll's."""
    UNOBSERVED = 8
    """Nobody looked, and nothing tells afterwards."""
    WAITING = 9
    """Asked for by a job that waited: no node's time, and free."""

    @property
    def word(self) -> str:
        """As reports call it."""
        return self.name.lower()


class RowKey(NamedTuple):
    """What a row of the ledger is about; `hour` counts from 1970."""

    hour: int
    account: Account
    place: Place
    use: Use


class Amount(NamedTuple):
    """Milli-GPU-milliseconds, and the millijoules drawn in them."""

    milli_ms: int
    millijoules: int


class Tally:
    """Amounts by row, which only grow."""

    def __init__(self) -> None:
        self._rows: dict[RowKey, list[int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[RowKey, Amount]]:
        return ((key, Amount(*amount)) for key, amount in self._rows.items())

    def spend(self, key: RowKey, milli_ms: int, watts: int) -> None:
        """Add time at which a whole GPU draws that many watts."""
        self._add(key, milli_ms, milli_ms * watts // WHOLE_GPU_MILLI)

    def add(self, other: "Tally") -> None:
        """Add all rows of another."""
        for key, amount in other:
            self._add(key, *amount)

    def _add(self, key: RowKey, milli_ms: int, millijoules: int) -> None:
        known = self._rows.get(key)
        if known is None:
            self._rows[key] = [milli_ms, millijoules]
        else:
            known[0] += milli_ms
            known[1] += millijoules


def hours_between(start_ms: int, end_ms: int) -> Iterator[tuple[int, int]]:
    """The hours that a time reaches into, each with how many milliseconds of it."""
    hour = start_ms // MS_PER_HOUR
    while start_ms < end_ms:
        until = min(end_ms, (hour + 1) * MS_PER_HOUR)
        yield hour, until - start_ms
        start_ms, hour = until, hour + 1
