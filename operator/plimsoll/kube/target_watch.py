"""How what is known of the targets of jobs is kept current: each is read anew now and then.

A watch would need the right to read all workloads of the cluster, and hold them all in memory.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NoReturn

from plimsoll import telemetry
from plimsoll.errors import PlimsollError
from plimsoll.kube.client import KubeClient
from plimsoll.kube.target_reading import Workloads
from plimsoll.kube.workloads import Reading, Reference, Scale, told

LOOK_PAUSE_SECONDS = 0.5
"""How often at most it is seen which targets there are, which costs a look at each job."""
_log = telemetry.logger(__name__)


class TargetWatch:
    """The targets, read every `seconds` while `run` runs, and new ones soon.

    `wanted` says which those are; `changed` is called when one is another than before, and when
    all were read.
    """

    def __init__(
        self,
        client: KubeClient,
        wanted: Callable[[], Iterable[Reference]],
        changed: Callable[[], None],
        *,
        seconds: float,
    ) -> None:
        self.workloads = Workloads(client)
        self._wanted, self._changed, self._seconds = wanted, changed, seconds
        self._known: dict[Reference, Reading] = {}
        self._look = asyncio.Event()
        self._synced = asyncio.Event()
        self._read_at = self._anew_from = -math.inf

    @property
    def readings(self) -> Mapping[Reference, Reading]:
        """What is known; a live view."""
        return MappingProxyType(self._known)

    async def wait_synced(self) -> None:
        """Return when all targets have been asked for once."""
        await self._synced.wait()

    def is_from(self, moment: float) -> bool:
        """Whether all were read at that monotonic moment or later; else they are, now."""
        if self._read_at >= moment or not any(self._wanted()):
            return True
        self._anew_from = moment
        self._look.set()
        return False

    def look(self) -> None:
        """See whether there are new targets."""
        self._look.set()

    def scaled(self, reference: Reference, scale: Scale) -> None:
        """Take the answer to a write of ours."""
        before = self._known.get(reference)
        if before is not None:
            self._take(told(before, scale))

    async def run(self) -> NoReturn:
        """Read until cancelled."""
        while True:
            begun = time.monotonic()
            wanted = set(self._wanted())
            self._forget_others(wanted)
            await self._read(wanted)
            self._read_at = begun
            self._synced.set()
            self._changed()
            await self._rest()

    async def _rest(self) -> None:
        """Wait until it is time to read all again; meanwhile read what is new."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._seconds
        while (left := until - loop.time()) > 0:
            try:
                await asyncio.wait_for(self._look.wait(), left)
            except TimeoutError:
                return
            self._look.clear()
            if self._read_at < self._anew_from:
                return
            wanted = set(self._wanted())
            self._forget_others(wanted)
            await self._read(wanted - self._known.keys())
            await asyncio.sleep(LOOK_PAUSE_SECONDS)

    def _forget_others(self, wanted: set[Reference]) -> None:
        for gone in self._known.keys() - wanted:
            del self._known[gone]

    async def _read(self, references: set[Reference]) -> None:
        await asyncio.gather(*map(self._read_one, references))

    async def _read_one(self, reference: Reference) -> None:
        try:
            self._take(await self.workloads.read(reference, self._known.get(reference)))
        except PlimsollError as error:
            _log.warning("target not read", target=str(reference), error=str(error))

    def _take(self, reading: Reading) -> None:
        """Keep a reading, unless what is known is newer."""
        before = self._known.get(reading.reference)
        if before is reading:
            return
        if before is not None and not reading.problem and before.version > reading.version:
            return
        self._known[reading.reference] = reading
        self._changed()
