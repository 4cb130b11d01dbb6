"""Read the price catalogue at intervals; one that cannot be read leaves the last in force."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from plimsoll.clock import repeat
from plimsoll.errors import UnusablePrices
from plimsoll.observe.measured.prices import NodePrice
from plimsoll.signals.price_catalogue import catalogue_in
from plimsoll.vocabulary import logs, metrics

SECONDS: Final = 10.0
"""The kubelet takes longer to bring a changed ConfigMap into a pod."""
_log = logs.logger(__name__)


class CatalogueWatch:
    """Reads at a fixed interval while `run` runs; `changed` is called after other prices."""

    def __init__(self, file: Path, changed: Callable[[], None]) -> None:
        self._file, self._changed = file, changed
        self._prices: tuple[NodePrice, ...] | None = None
        self._problem = ""

    def current(self) -> tuple[NodePrice, ...] | None:
        """The prices as last read; None if they never could be."""
        return self._prices

    async def run(self) -> NoReturn:
        """Read until cancelled."""
        await repeat(self.look, SECONDS)

    async def look(self) -> None:
        """Read once."""
        try:
            found = await asyncio.to_thread(catalogue_in, self._file)
        except UnusablePrices as error:
            self._note(str(error))
            return
        self._note("")
        if found != self._prices:
            self._prices = found
            _log.info("node prices read", file=str(self._file), prices=len(found))
            self._changed()

    def _note(self, problem: str) -> None:
        """Log a problem once, and count while there is one."""
        if problem and problem != self._problem:
            _log.warning("node prices not read: the last stay in force", problem=problem)
        self._problem = problem
        metrics.UNREAD_OBJECTS.labels("prices").set(bool(problem))
