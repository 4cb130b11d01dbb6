"""Record Events on objects, which users see in `kubectl describe`.

A message repeated about the same object within a window becomes a count on the existing event,
written once per window. Names derive from the message and the time, so that a restart does not
repeat it. Events are best effort: nothing waits for them, and when too many are queued they are
dropped and counted. Namespaces take turns, and each has a limited part of the queue and of the
memory, so that flapping jobs in one do not crowd out the events of another.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NoReturn

import msgspec

from plimsoll.errors import AlreadyExists, NotFound, PlimsollError
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import EVENTS
from plimsoll.kube.objects.times import rfc3339
from plimsoll.kube.queues.bounded_queue import BoundedQueue
from plimsoll.supervision import count_unforeseen
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason

_log = logs.logger(__name__)

_COMPONENT = "plimsoll"
_LONGEST_MESSAGE = 1024  # as other recorders do; events.k8s.io refuses more
_LONGEST_NAME = 200  # of 253, leaving room for our suffix


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that an event is about; cluster-wide objects have no namespace."""

    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Saying:
    """A message about an object; equal ones are one event."""

    subject: Subject
    reason: Reason
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class EventTerms:
    """Limits on events: `window_seconds` between writes of one event, and the queue sizes.

    `most_waiting` and `most_remembered` in total, `most_waiting_of_one` and
    `most_remembered_of_one` per namespace.
    """

    window_seconds: int = 300
    most_waiting: int = 5_000
    most_waiting_of_one: int = 1_000
    most_remembered: int = 20_000
    most_remembered_of_one: int = 4_000
    writers: int = 4


@dataclass(slots=True)
class _Series:
    """An existing event: its total count, and the count since it was last written."""

    name: str
    first: datetime
    count: int = 1
    unwritten: int = 0


@dataclass(frozen=True, slots=True)
class _Write:
    saying: Saying
    series: _Series
    at: datetime
    count: int


def event_name(saying: Saying, window: int) -> str:
    """The name of the event written when `saying` first occurs in `window`."""
    text = "\n".join((saying.subject.uid, saying.reason, saying.message, str(window)))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{saying.subject.name[:_LONGEST_NAME].rstrip('-.')}.{digest}"


class EventRecorder:
    """Writes events from a queue while `run` runs; `record` never waits."""

    def __init__(
        self,
        client: KubeClient,
        *,
        instance: str = "plimsoll",
        terms: EventTerms | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._instance = instance
        self._terms = terms or EventTerms()
        self._clock = clock
        self._said: dict[str, dict[Saying, _Series]] = {}
        self._window = 0
        most, most_of_one = self._terms.most_waiting, self._terms.most_waiting_of_one
        self._queue = BoundedQueue[_Write](most, most_of_one)

    def record(self, saying: Saying) -> None:
        """Record it: written now if it is new, otherwise counted in the next window's write."""
        self._enter_window()
        saying = replace(saying, message=_shortened(saying.message))
        known = self._said.get(saying.subject.namespace, {}).get(saying)
        if known is not None:
            known.unwritten += 1
            return
        series = _Series(event_name(saying, self._window), self._clock())
        if self._put(_Write(saying, series, series.first, count=1)):
            self._remember(saying, series)

    async def run(self) -> NoReturn:
        """Write what is recorded, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._terms.writers):
                tasks.create_task(self._write_queued())
            while True:
                self._enter_window()
                await asyncio.sleep(min(5.0, self._terms.window_seconds / 2))

    async def flush(self) -> None:
        """Return when everything recorded is written; `run` must be running."""
        await self._queue.join()

    def _enter_window(self) -> None:
        """At the start of a window, queue the counts of the last; forget events gone quiet."""
        now = self._clock()
        window = int(now.timestamp()) // self._terms.window_seconds
        if window == self._window:
            return
        self._window = window
        again = {
            namespace: {saying: series for saying, series in said.items() if series.unwritten}
            for namespace, said in self._said.items()
        }
        self._said = {namespace: said for namespace, said in again.items() if said}
        for said in self._said.values():
            for saying, series in said.items():
                series.count, series.unwritten = series.count + series.unwritten, 0
                self._put(_Write(saying, series, now, series.count))

    def _remember(self, saying: Saying, series: _Series) -> None:
        mine = self._said.setdefault(saying.subject.namespace, {})
        if len(mine) >= self._terms.most_remembered_of_one:
            del mine[next(iter(mine))]
        elif sum(map(len, self._said.values())) >= self._terms.most_remembered:
            most = max(self._said.values(), key=len)
            del most[next(iter(most))]
        mine[saying] = series

    def _put(self, write: _Write) -> bool:
        is_taken = self._queue.put(write.saying.subject.namespace, write)
        if not is_taken:
            metrics.EVENTS_DROPPED.labels("QueueFull").inc()
        return is_taken

    async def _write_queued(self) -> NoReturn:
        while True:
            write = await self._queue.get()
            try:
                await self._write(write)
            except PlimsollError as error:
                metrics.EVENTS_DROPPED.labels(type(error).__name__).inc()
                _log.debug("event dropped", name=write.series.name, error=str(error))
            except Exception as error:  # noqa: BLE001 - around one event
                metrics.EVENTS_DROPPED.labels(type(error).__name__).inc()
                count_unforeseen("event", error, name=write.series.name)
            finally:
                self._queue.done()

    async def _write(self, write: _Write) -> None:
        namespace = write.saying.subject.namespace or "default"
        if write.count > 1:
            path = EVENTS.named(write.series.name, namespace)
            news = {"count": write.count, "lastTimestamp": rfc3339(write.at)}
            try:
                await self._client.merge_patch(path, news, msgspec.Raw)
            except NotFound:
                pass  # events live for an hour; it is created anew below
            else:
                return
        # Recorded already, before this process started.
        with contextlib.suppress(AlreadyExists):
            body = self._document(write, namespace)
            await self._client.create(EVENTS.within(namespace), body, msgspec.Raw)

    def _document(self, write: _Write, namespace: str) -> dict[str, object]:
        saying, subject = write.saying, write.saying.subject
        return {
            "metadata": {"name": write.series.name, "namespace": namespace},
            "involvedObject": {
                "apiVersion": subject.api_version,
                "kind": subject.kind,
                "name": subject.name,
                "namespace": subject.namespace or None,
                "uid": subject.uid,
            },
            "type": "Warning" if saying.warning else "Normal",
            "reason": saying.reason,
            "message": saying.message,
            "count": write.count,
            "firstTimestamp": rfc3339(write.series.first),
            "lastTimestamp": rfc3339(write.at),
            "source": {"component": _COMPONENT},
            "reportingComponent": _COMPONENT,
            "reportingInstance": self._instance,
        }


def _shortened(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…"
