"""What has been accounted for in memory, and not yet in the database.

The database has everything up to `base`. What was used since adds up here, until it is written as
one batch; while that is under way, a next one begins. If a write fails, both become one again. If
somebody else wrote, both are dropped, for their time is accounted for.

Memory is bounded: while the database is away for so long that too many rows would wait, they are
dropped, and made again in one piece once it is back, from what was seen at both ends.
"""

from typing import Final

from plimsoll_console.ledger.accounting.accrual import accrued
from plimsoll_console.ledger.accounting.observation import Loss, Observation
from plimsoll_console.ledger.accounting.tally import Tally
from plimsoll_console.ledger.database.store import Batch

MOST_ROWS: Final = 300_000
_MOST_LOSSES: Final = 100_000
_LossKey = tuple[str, int]


class Book:
    """Adds up what is used. `most_rows` may wait to be written."""

    def __init__(self, *, most_rows: int = MOST_ROWS) -> None:
        self._most_rows = most_rows
        self._base: Observation | None = None
        self._last: Observation | None = None
        self._open: Tally | None = Tally()
        self._sent: Batch | None = None
        self._known_losses: set[_LossKey] = set()

    @property
    def last(self) -> Observation | None:
        """What was seen last."""
        return self._last

    def rest(self) -> None:
        """Account for nothing until `start_from`: somebody else does."""
        self._base, self._sent, self._open = None, None, Tally()

    @property
    def since_ms(self) -> int:
        """From when on what ended may still have to be accounted for."""
        return self._base.at_ms if self._base is not None else 0

    @property
    def sent(self) -> Batch | None:
        """The batch that is being written, or of which nobody knows whether it was."""
        return self._sent

    @property
    def rows(self) -> int:
        """How many rows wait to be written."""
        return self._sent_rows + (len(self._open) if self._open is not None else 0)

    def start_from(self, base: Observation) -> None:
        """Account from what the database was written with last."""
        last = self._last
        self.rest()
        self._base = base
        self._known_losses.clear()
        self._last = base
        if last is not None:
            self.see(last)

    def see(self, seen: Observation) -> None:
        """Add what was used since the last observation."""
        before = self._last
        if before is not None and seen.at_ms <= before.at_ms:
            return
        if self._base is not None and before is not None and self._open is not None:
            self._open.add(accrued(before, seen))
            if self.rows > self._most_rows:
                self._open = None
        self._last = seen

    def close(self) -> Batch | None:
        """What is to be written next; None if there is nothing, or it is being written."""
        base, last = self._base, self._last
        if base is None or last is None or last.at_ms <= base.at_ms or self._sent is not None:
            return None
        tally = accrued(base, last) if self._open is None else self._open
        self._sent = Batch(base.at_ms, last, tally, self._new_losses(last))
        self._open = Tally()
        return self._sent

    def written(self) -> None:
        """The batch is in the database."""
        if self._sent is not None:
            self._base = self._sent.until
            if len(self._known_losses) > _MOST_LOSSES:
                self._known_losses.clear()
            self._known_losses.update(map(_key, self._sent.losses))
        self._sent = None

    def not_written(self) -> None:
        """The batch is not in the database: it becomes part of the next one."""
        sent, self._sent = self._sent, None
        if sent is None or self._open is None:
            return
        sent.tally.add(self._open)
        self._open = sent.tally if len(sent.tally) <= self._most_rows else None

    @property
    def _sent_rows(self) -> int:
        return len(self._sent.tally) if self._sent is not None else 0

    def _new_losses(self, seen: Observation) -> tuple[Loss, ...]:
        return tuple(each for each in seen.losses if _key(each) not in self._known_losses)


def _key(loss: Loss) -> _LossKey:
    return loss.account.uid, loss.at_ms
