"""Say by a Lease how far the ledger goes, for the operator to put it into a condition."""

import socket
from collections.abc import Callable
from datetime import datetime
from typing import NoReturn

from plimsoll.clock import repeat
from plimsoll.errors import ApiError
from plimsoll.kube.heartbeat import Heartbeat
from plimsoll.vocabulary import logs

_log = logs.logger(__name__)


class Announcement:
    """Renews the Lease while `run` runs, whenever the ledger has grown."""

    def __init__(self, lease: Heartbeat, until: Callable[[], datetime | None]) -> None:
        self._lease, self._until = lease, until
        self._said: datetime | None = None

    async def run(self, seconds: float) -> NoReturn:
        """Look that often until cancelled."""
        await repeat(self.look, seconds)

    async def look(self) -> None:
        """Renew the Lease, if there is something to say."""
        until = self._until()
        if until == self._said or until is None:
            return
        try:
            await self._lease.renew(until, socket.gethostname())
        except ApiError as error:
            _log.warning("the ledger's Lease was not renewed", error=str(error))
        else:
            self._said = until
