"""Keep the ledger: look at the cluster, add up, write, and go on whatever the database does.

Two threads of its own do what takes long: one looks and adds up, one waits for the database. So
neither a full disk nor a dead server holds up anything else, nor looking.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, NoReturn

from plimsoll.observe.snapshot import Snapshot
from plimsoll.vocabulary import logs
from plimsoll_console.ledger import metrics
from plimsoll_console.ledger.accounting.observation import MS_PER_HOUR, Observation
from plimsoll_console.ledger.book import Book
from plimsoll_console.ledger.database.store import HOURS_PER_DAY, Batch, Store
from plimsoll_console.ledger.snapshots import observation_of
from plimsoll_console.ledger.terms import Terms

_log = logs.logger(__name__)
_MS_PER_SECOND: Final = 1000
_FIRST_REST_SECONDS: Final = 1.0


class Keeper:
    """Keeps the ledger of the snapshots that a callable returns, while `run` runs."""

    def __init__(
        self,
        store: Store,
        terms: Terms,
        *,
        book: Book | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._terms, self._clock = store, terms, clock
        self._book, self._lock = book or Book(), threading.Lock()
        self._is_open = self._accounts = False
        self._failures, self._since, self._error = 0, "", ""
        self._until_ms = 0
        self._others_until: int | None = None
        self._others_since = clock()
        self._forgot_at = clock() - terms.forget_seconds

    @property
    def accounted_until(self) -> datetime | None:
        """Until when the database has all that was used, as last seen; None: nothing yet."""
        return (
            datetime.fromtimestamp(self._until_ms / _MS_PER_SECOND, UTC) if self._until_ms else None
        )

    @property
    def problem(self) -> str:
        """Since when nothing can be written, and why; "" if all is well."""
        return f"{self._since}: {self._error}" if self._failures else ""

    @property
    def late(self) -> str:
        """The same for people who use the console: where the database is, is not theirs to know."""
        text = "the reports lack what has been used since, until it can; the console's log says why"
        return f"{self._since}: {text}" if self._failures else ""

    async def run(self, snapshots: Callable[[], Snapshot | None]) -> NoReturn:
        """Look and write until cancelled; None: what there is cannot be seen now."""
        if not self._is_open:
            self._show(0)
        with _thread("ledger-looks") as looks, _thread("ledger-writes") as writes:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._write_always(writes))
                await self._look_always(snapshots, looks)

    def see(self, seen: Observation) -> None:
        """Add up what was used since the last observation."""
        with self._lock:
            self._book.see(seen)
            metrics.ROWS_WAITING.set(self._book.rows)

    def write(self) -> None:
        """Write what is due. Raises what the database raises; nothing is lost by it."""
        if not self._is_open:
            self._store.open()
            self._is_open = True
        if not self._may_account():
            return
        self._settle()
        with self._lock:
            batch = self._book.close()
        if batch is not None:
            self._write(batch)
        self._forget()

    async def _look_always(
        self, snapshots: Callable[[], Snapshot | None], thread: ThreadPoolExecutor
    ) -> NoReturn:
        loop = asyncio.get_running_loop()
        rest_seconds = min(self._terms.look_seconds, self._terms.write_seconds)
        while True:
            snapshot = snapshots()
            if snapshot is not None:
                await loop.run_in_executor(thread, self._look, snapshot)
            await asyncio.sleep(rest_seconds)

    async def _write_always(self, thread: ThreadPoolExecutor) -> NoReturn:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._rest_seconds())
            await loop.run_in_executor(thread, self._try_to_write)

    def _look(self, snapshot: Snapshot) -> None:
        with self._lock:
            since_ms = self._book.since_ms
        self.see(observation_of(snapshot, since_ms))

    def _rest_seconds(self) -> float:
        if not self._accounts and not self._failures and self._others_until is None:
            return _FIRST_REST_SECONDS
        rest: float = self._terms.write_seconds * 2.0 ** min(self._failures, 16)
        return min(rest, max(self._terms.longest_rest_seconds, self._terms.write_seconds))

    def _try_to_write(self) -> None:
        try:
            self.write()
        except Exception as error:  # noqa: BLE001 - around one part: looking goes on, and it is tried again
            if not self._failures:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                self._since = f"the ledger cannot be written since {now}"
            self._failures += 1
            self._error = f"{type(error).__name__}: {error}"
            metrics.WRITES.labels("Failed").inc()
            _log.error("the ledger was not written", error=self._error, failures=self._failures)
        else:
            self._failures = 0

    def _may_account(self) -> bool:
        """Whether this console accounts: another one does if the ledger grows without it."""
        if self._accounts:
            return True
        until = self._store.accounted_until()
        if until is None:
            return self._begin()
        self._show(until)
        if self._others_until not in (None, until):
            self._others_since = self._clock()
        is_first = self._others_until is None
        self._others_until = until
        if is_first or self._clock() - self._others_since >= self._terms.takeover_seconds:
            self._start()
        return self._accounts

    def _begin(self) -> bool:
        with self._lock:
            first = self._book.last
        if first is not None:
            self._store.begin(first)
            self._start()
        return self._accounts

    def _start(self) -> None:
        """Account from where the ledger ends."""
        base = self._store.last_seen()
        if base is not None:
            with self._lock:
                self._book.start_from(base)
            self._accounts = True

    def _settle(self) -> None:
        """Find out whether the last batch was written, if its commit was never answered."""
        with self._lock:
            sent = self._book.sent
        if sent is None:
            return
        is_there = self._store.accounted_until() == sent.until.at_ms
        with self._lock:
            if is_there:
                self._book.written()
            else:
                self._book.not_written()

    def _write(self, batch: Batch) -> None:
        if self._store.write(batch):
            with self._lock:
                self._book.written()
                metrics.ROWS_WAITING.set(self._book.rows)
            metrics.WRITES.labels("Written").inc()
            self._show(batch.until.at_ms)
            return
        metrics.WRITES.labels("Overtaken").inc()
        with self._lock:
            self._book.rest()
        self._accounts = False
        self._others_until, self._others_since = self._store.accounted_until(), self._clock()

    def _forget(self) -> None:
        """Delete what is older than is kept, once a day."""
        with self._lock:
            last = self._book.last
        if last is None or self._clock() - self._forgot_at < self._terms.forget_seconds:
            return
        kept = self._terms.retention_days * HOURS_PER_DAY
        self._store.forget_before(last.at_ms // MS_PER_HOUR - kept)
        self._forgot_at = self._clock()

    def _show(self, until_ms: int) -> None:
        self._until_ms = until_ms
        metrics.ACCOUNTED_UNTIL.set(until_ms / _MS_PER_SECOND)


@contextmanager
def _thread(name: str) -> Generator[ThreadPoolExecutor]:
    """A thread that nobody waits for in the end: a database may never answer."""
    thread = ThreadPoolExecutor(1, thread_name_prefix=name)
    try:
        yield thread
    finally:
        thread.shutdown(wait=False, cancel_futures=True)
