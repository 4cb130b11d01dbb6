"""Read at intervals how far the console's ledger goes."""

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

    def __init__(self, ledger: Heartbeat) -> None:
        self._ledger = ledger
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
            self._reading = LedgerReading(await self._ledger.renewed_at())
        except ApiError as error:
            before = self._reading
            self._reading = LedgerReading(problem=f"its Lease cannot be read: {error}")
            if self._reading != before:
                _log.warning("the ledger's Lease was not read", error=str(error))
