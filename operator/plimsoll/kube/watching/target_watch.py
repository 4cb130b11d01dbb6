"""How what is known of the targets of jobs is kept current: each is read anew now and then.

A watch would need the right to read all workloads of the cluster, and hold them all in memory.
Targets may be of any kind, and so may hang: reads of one never delay those of another namespace.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from plimsoll import telemetry
from plimsoll.errors import PlimsollError
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.queues.fair_queue import FairQueue
from plimsoll.kube.watching.target_reading import EACH_NAMESPACE, Workloads
from plimsoll.kube.watching.workloads import Reading, Reference, Scale, told, unread

LOOK_PAUSE_SECONDS = 0.5
"""How often at most it is seen which targets there are, which costs a look at each job."""
READERS = 32
"""How many targets are read at a time."""
GRACE_SECONDS = 2.0
"""How long is waited for all to be read before what was read is enough to act by."""
SOON_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
PATIENCE = 2
"""So often in a row may a target not be read before its job is told."""
_log = telemetry.logger(__name__)


@dataclass(slots=True)
class _Known:
    """What is known of a target, when it was asked for last, and when it is due again."""

    reading: Reading | None = None
    asked_at: float = -math.inf
    due: float = -math.inf
    failures: int = 0
    waits: bool = False
    """Whether it stands in line or is being read."""


class TargetWatch:
    """The targets, read every `seconds` while `run` runs, and new ones soon.

    `wanted` says which those are; `changed` is called when one is another than before.
    """

    def __init__(
        self,
        client: KubeClient,
        wanted: Callable[[], Iterable[Reference]],
        changed: Callable[[], None],
        *,
        seconds: float,
    ) -> None:
        self._workloads = Workloads(client)
        self._wanted, self._changed, self._seconds = wanted, changed, seconds
        self._known: dict[Reference, _Known] = {}
        self._line: FairQueue[Reference] = FairQueue(each=EACH_NAMESPACE)
        self._look = asyncio.Event()
        self._since = self._enough_at = -math.inf
        self._is_enough = False

    def readings(self) -> tuple[Reading, ...]:
        """What is known of those that were asked for since the moment of `is_from`."""
        asked = (each for each in self._known.values() if each.asked_at >= self._since)
        return tuple(each.reading for each in asked if each.reading is not None)

    def is_from(self, moment: float) -> bool:
        """Whether what is known was asked for at that monotonic moment or later; else it is, now.

        What does not answer is not waited for: it is unknown until it does.
        """
        now = time.monotonic()
        if moment > self._since:
            self._since, self._enough_at, self._is_enough = moment, now + GRACE_SECONDS, False
            self._ask_all_again()
        if not self._is_enough:
            self._is_enough = now >= self._enough_at or all(map(self._was_asked, self._wanted()))
        return self._is_enough

    def _ask_all_again(self) -> None:
        for known in self._known.values():
            known.due = -math.inf
        self._look.set()
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._changed)

    def _was_asked(self, reference: Reference) -> bool:
        known = self._known.get(reference)
        return known is not None and known.asked_at >= self._since

    def look(self) -> None:
        """See whether there are new targets."""
        self._look.set()

    def read_again(self, reference: Reference) -> None:
        """Read a target soon: it is not as it was thought to be."""
        known = self._known.get(reference)
        if known is not None:
            known.due = -math.inf
            self._look.set()

    def scaled(self, reference: Reference, scale: Scale) -> None:
        """Take the answer to a write of ours."""
        known = self._known.get(reference)
        if known is not None and known.reading is not None:
            self._take(known, told(known.reading, scale))

    async def run(self) -> NoReturn:
        """Read until cancelled."""
        for known in self._known.values():
            known.waits = False  # whoever was asking has been cancelled, where this is begun anew
        async with asyncio.TaskGroup() as group:
            for _ in range(READERS):
                group.create_task(self._read())
            while True:
                self._look.clear()
                self._line_up(dict.fromkeys(self._wanted()))
                await self._rest()
        raise AssertionError

    def _line_up(self, wanted: dict[Reference, None]) -> None:
        """Put those that are due in line, and forget those that nobody targets any more."""
        for gone in self._known.keys() - wanted.keys():
            del self._known[gone]
        now = time.monotonic()
        for reference in wanted:
            known = self._known.setdefault(reference, _Known())
            if not known.waits and known.due <= now:
                known.waits, known.due = True, math.inf
                # What has failed once is told of soon, or found to be well.
                rank = -1 if 0 < known.failures < PATIENCE else 0
                self._line.put(reference.namespace, reference, rank=rank)

    async def _rest(self) -> None:
        """Wait until one is due or may be new."""
        await asyncio.sleep(LOOK_PAUSE_SECONDS)
        until = time.monotonic() + self._seconds
        due = min((each.due for each in self._known.values() if not each.waits), default=until)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(due, until) - time.monotonic()):
                await self._look.wait()

    async def _read(self) -> NoReturn:
        while True:
            namespace, reference = await self._line.get()
            known = self._known.get(reference)
            try:
                if known is not None and known.waits:
                    await self._ask(reference, known)
            finally:
                self._line.done(namespace)

    async def _ask(self, reference: Reference, known: _Known) -> None:
        begun = time.monotonic()
        try:
            reading = await self._workloads.read(reference, known.reading)
        except Exception as error:  # noqa: BLE001 - what is wrong with one costs no other
            self._failed(reference, known, error)
        else:
            known.failures = 0
            self._take(known, reading)
        is_first, known.asked_at, known.waits = known.asked_at < self._since, begun, False
        if known.due == math.inf:
            known.due = begun + pause_seconds(self._seconds, known.failures)
        else:  # it was doubted meanwhile
            self._look.set()
        if is_first:
            self._changed()

    def _failed(self, reference: Reference, known: _Known, error: Exception) -> None:
        """Keep what is known; where nothing is, say so before long."""
        unforeseen = None if isinstance(error, PlimsollError) else error
        _log.warning(
            "target not read", target=str(reference), error=str(error), exc_info=unforeseen
        )
        known.failures += 1
        if known.reading is None and known.failures >= PATIENCE:
            text = f"{reference} cannot be read now, {error}: it is asked for again"
            self._take(known, unread(reference, text))

    def _take(self, known: _Known, reading: Reading) -> None:
        """Keep a reading, unless what is known is newer."""
        before = known.reading
        if before is reading:
            return
        if before is not None and not reading.problem and before.version > reading.version:
            return
        known.reading = reading
        self._changed()


def pause_seconds(seconds: float, failures: int) -> float:
    """After how long a target is read again that could not be read so often in a row.

    What fails takes the time of others in its namespace: it is asked for ever more seldom.
    """
    if failures == 0:
        return seconds
    if failures < PATIENCE:
        return min(SOON_SECONDS, seconds)
    return max(seconds, min(seconds * 2.0 ** min(failures - PATIENCE, 16), LONGEST_PAUSE_SECONDS))
