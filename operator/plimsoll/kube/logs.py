"""Read the log of a container line by line, over as many connections as that takes.

Each line is asked for with its time, so that a connection that breaks is followed by one that goes
on after the last line. Lines of the very same nanosecond as that one are taken for it. What has no
time is no line of the container: the rest of one that was too long, or the kubelet's words, in the
place of a log, that it cannot read the log of a container that it has just removed.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum
from typing import Final

from plimsoll.errors import ApiError, NotFound, Unavailable
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.objects.objects import Pod

LONGEST_LINE: Final = 1 << 20
"""Bytes after which a line is cut."""
_NEWLINE: Final = b"\n"
_TIMED: Final = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* ?")
_LOST: Final = b"unable to retrieve container logs for "


@dataclass(frozen=True, slots=True)
class LogTerms:
    """How broken connections are dealt with.

    After `silence_seconds` without a line a connection may be dead, so that another one is made;
    `attempts` that fail in a row are too many.
    """

    silence_seconds: float = 60.0
    attempts: int = 5
    first_retry_seconds: float = 0.2
    longest_retry_seconds: float = 5.0
    pause_seconds: float = 1.0


class State(Enum):
    """Whether a container runs, rests until it is started again, or is over."""

    RUNNING = "Running"
    RESTING = "Resting"
    OVER = "Over"


@dataclass(frozen=True, slots=True)
class Container:
    """A container of the pod with this uid."""

    namespace: str
    pod: str
    uid: str
    name: str


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which part of a log is read; None leaves the whole.

    `previous`: that of the container's last run before it was restarted.
    """

    tail_lines: int | None = None
    since_seconds: int | None = None
    previous: bool = False

    @property
    def parameters(self) -> dict[str, str]:
        """As query parameters."""
        numbers = {"tailLines": self.tail_lines, "sinceSeconds": self.since_seconds}
        asked = {key: str(value) for key, value in numbers.items() if value is not None}
        return {**asked, "previous": "true"} if self.previous else asked


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line and its time, in the words of the kubelet."""

    time: str
    text: str


class _LogIsLost(NotFound):
    """The kubelet has no log of the container any more."""


class ContainerLog:
    """The log of one container from the beginning of what is asked for."""

    def __init__(
        self,
        client: KubeClient,
        container: Container,
        query: LogQuery,
        terms: LogTerms | None = None,
    ) -> None:
        self._client = client
        self._container = container
        self._query = query
        self._terms = terms or LogTerms()
        self._last = ""
        self._failures = 0

    async def lines(self) -> AsyncGenerator[LogLine]:
        """What the log has by now. Raises ApiError, Unavailable only after several attempts.

        NotFound also where the log is there no more.
        """
        while True:
            try:
                async with aclosing(self._read({})) as lines:
                    async for line in lines:
                        yield line
            except Unavailable as error:
                await self._retry(error)
            else:
                return

    async def followed(self, state: Callable[[], State]) -> AsyncGenerator[LogLine]:
        """The log as it grows, over restarts, until the container is over and all is read.

        Raises ApiError.
        """
        is_behind = True
        while is_behind or state() is not State.OVER:
            if is_behind or state() is State.RUNNING:
                if self._last and await self._is_replaced():
                    return
                try:
                    async with aclosing(self._read({"follow": "true"})) as lines:
                        async for line in lines:
                            yield line
                except _LogIsLost:
                    pass  # of the run that is over; another may follow
                except Unavailable as error:
                    is_behind = True
                    await self._retry(error)
                    continue
            # A server that shuts down ends a log as if it were complete.
            is_behind = state() is State.RUNNING
            if state() is not State.OVER:
                await asyncio.sleep(self._terms.pause_seconds)

    async def _is_replaced(self) -> bool:
        """Whether the pod's name is another's by now, which may be seen later than its log."""
        path = PODS.named(self._container.pod, self._container.namespace)
        try:
            pod = await self._client.get(path, Pod)
        except NotFound:
            return True
        except ApiError:
            return False  # whether its log can be read shows when it is read
        return pod.metadata.uid != self._container.uid

    async def _read(self, more: Mapping[str, str]) -> AsyncGenerator[LogLine]:
        """The lines that one connection brings after the last one."""
        path = PODS.named(self._container.pod, self._container.namespace, "log")
        query = {"container": self._container.name, "timestamps": "true", **more, **self._part()}
        silence = self._terms.silence_seconds
        async with self._client.log(path, query, silence_seconds=silence) as chunks:
            self._failures = 0
            async with aclosing(split_lines(chunks)) as lines:
                async for line in lines:
                    if not _TIMED.match(line):
                        if line.startswith(_LOST):
                            raise _LogIsLost(line.decode(errors="replace"))
                        continue
                    time, _, text = line.decode(errors="replace").partition(" ")
                    if time > self._last:
                        self._last = time
                        yield LogLine(time, text)

    def _part(self) -> dict[str, str]:
        if not self._last:
            return self._query.parameters
        return {"sinceTime": self._last} | ({"previous": "true"} if self._query.previous else {})

    async def _retry(self, error: Unavailable) -> None:
        self._failures += 1
        if self._failures >= self._terms.attempts:
            raise error
        wait = self._terms.first_retry_seconds * 2 ** (self._failures - 1)
        await asyncio.sleep(min(wait, self._terms.longest_retry_seconds))


async def split_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The lines of chunks that end anywhere; the last one may lack its end."""
    rest = bytearray()
    async for chunk in chunks:
        rest += chunk
        *lines, left = bytes(rest).split(_NEWLINE)
        rest = bytearray(left)
        for line in lines:
            yield line
        if len(rest) > LONGEST_LINE:
            yield bytes(rest)
            rest.clear()
    if rest:
        yield bytes(rest)
