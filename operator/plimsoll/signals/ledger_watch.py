"""Read at intervals how far the console's ledger goes."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, NoReturn

from plimsoll.clock import repeat
from plimsoll.errors import ApiError
from plimsoll.kube.heartbeat import Heartbeat
from plimsoll.observe.measured.ledger import LedgerReading
from plimsoll.vocabulary import logs

SECONDS: Final = 10.0
_log = logs.logger(__name__)


class LedgerWatch:
    """Reads at a fixed interval while `run` runs."""

    def __init__(self, ledger: Heartbeat, now: Callable[[], datetime]) -> None:
        self._ledger, self._now = ledger, now
        self._empty_since: datetime | None = None
        self._reading: LedgerReading | None = None

    def current(self) -> LedgerReading | None:
        """What was read last; None before that."""
        return self._reading

    async def run(self) -> NoReturn:
        """Read until cancelled."""
        await repeat(self.look, SECONDS)

    async def look(self) -> None:
        """Read once."""
        try:
            until = await self._ledger.renewed_at()
        except ApiError as error:
            before = self._reading
            self._reading = LedgerReading(problem=f"its Lease cannot be read: {error}")
            if self._reading != before:
                _log.warning("the ledger's Lease was not read", error=str(error))
        else:
            self._empty_since = self._empty_since or self._now() if until is None else None
            self._reading = LedgerReading(until, self._empty_since)
