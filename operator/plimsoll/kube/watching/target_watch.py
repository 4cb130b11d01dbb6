"""Keep the targets of jobs current by rereading each from time to time.

A watch would need the right to read all workloads of the cluster, and would hold them all in
memory. Targets may be of any kind, and so may hang: reads of one never delay those of another
namespace.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from plimsoll.errors import PlimsollError
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.queues.fair_queue import FairQueue
from plimsoll.kube.watching.target_reading import EACH_NAMESPACE, Workloads
from plimsoll.kube.watching.workloads import Reading, Reference, Scale, unread, with_scale
from plimsoll.vocabulary import logs

LOOK_PAUSE_SECONDS = 0.5
"""The shortest interval between looks for new targets, each of which goes through all jobs."""
READERS = 32
"""How many targets are read at a time."""
GRACE_SECONDS = 2.0
"""How long to wait for all to be read before what has been read is enough to act on."""
SOON_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
PATIENCE = 2
"""How many reads of a target in a row may fail before its job reports it."""
_log = logs.logger(__name__)


@dataclass(slots=True)
class _Known:
    """What is known of a target, when it was last requested, and when it is next due."""

    reading: Reading | None = None
    requested_at: float = -math.inf
    due: float = -math.inf
    failures: int = 0
    waits: bool = False
    """Whether it is queued or being read."""


class TargetWatch:
    """The targets, each reread every `seconds` while `run` runs, and new ones soon.

    `wanted` returns the targets; `changed` is called when one differs from before.
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
        """What is known of those requested since the moment given to `is_from`."""
        requested = (each for each in self._known.values() if each.requested_at >= self._since)
        return tuple(each.reading for each in requested if each.reading is not None)

    def is_from(self, moment: float) -> bool:
        """Whether everything was requested at that monotonic moment or later; if not, request now.

        A target that does not respond is not waited for: it is unknown until it does.
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
        return known is not None and known.requested_at >= self._since

    def look(self) -> None:
        """Check for new targets."""
        self._look.set()

    def read_again(self, reference: Reference) -> None:
        """Read a target soon: it differs from what was assumed."""
        known = self._known.get(reference)
        if known is not None:
            known.due = -math.inf
            self._look.set()

    def scaled(self, reference: Reference, scale: Scale) -> None:
        """Take the response to a write of ours."""
        known = self._known.get(reference)
        if known is not None and known.reading is not None:
            self._take(known, with_scale(known.reading, scale))

    async def run(self) -> NoReturn:
        """Read until cancelled."""
        for known in self._known.values():
            known.waits = False  # its reader has been cancelled, if this is a restart
        async with asyncio.TaskGroup() as group:
            for _ in range(READERS):
                group.create_task(self._read())
            while True:
                self._look.clear()
                self._line_up(dict.fromkeys(self._wanted()))
                await self._rest()
        raise AssertionError

    def _line_up(self, wanted: dict[Reference, None]) -> None:
        """Queue those that are due, and forget those that nothing targets any more."""
        for gone in self._known.keys() - wanted.keys():
            del self._known[gone]
        now = time.monotonic()
        for reference in wanted:
            known = self._known.setdefault(reference, _Known())
            if not known.waits and known.due <= now:
                known.waits, known.due = True, math.inf
                # A first failure is soon confirmed and reported, or found to have passed.
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
                    await self._read_one(reference, known)
            finally:
                self._line.done(namespace)

    async def _read_one(self, reference: Reference, known: _Known) -> None:
        begun = time.monotonic()
        try:
            reading = await self._workloads.read(reference, known.reading)
        except Exception as error:  # noqa: BLE001 - an error of one must not affect others
            self._failed(reference, known, error)
        else:
            known.failures = 0
            self._take(known, reading)
        is_first, known.requested_at, known.waits = known.requested_at < self._since, begun, False
        if known.due == math.inf:
            known.due = begun + pause_seconds(self._seconds, known.failures)
        else:  # it was doubted meanwhile
            self._look.set()
        if is_first:
            self._changed()

    def _failed(self, reference: Reference, known: _Known, error: Exception) -> None:
        """Keep what is known; if nothing is, report that before long."""
        unforeseen = None if isinstance(error, PlimsollError) else error
        _log.warning(
            "target not read", target=str(reference), error=str(error), exc_info=unforeseen
        )
        known.failures += 1
        if known.reading is None and known.failures >= PATIENCE:
            text = f"{reference} cannot be read now, {error}: it is asked for again"
            self._take(known, unread(reference, text))

    def _take(self, known: _Known, reading: Reading) -> None:
        """Keep a reading, unless the known one is newer."""
        before = known.reading
        if before is reading:
            return
        if before is not None and not reading.problem and before.version > reading.version:
            return
        known.reading = reading
        self._changed()


def pause_seconds(seconds: float, failures: int) -> float:
    """The pause before a target is reread after so many failures in a row.

    Failing reads take time from others in the namespace, so they become ever rarer.
    """
    if failures == 0:
        return seconds
    if failures < PATIENCE:
        return min(SOON_SECONDS, seconds)
    return max(seconds, min(seconds * 2.0 ** min(failures - PATIENCE, 16), LONGEST_PAUSE_SECONDS))
