"""Limit connections to the workers' endpoint: who is let in, and who is cut off.

aiohttp bounds the size of requests, but neither the number of connections nor the duration of a
first request. So each connection belongs to a stranger until a token proves it a worker's. Few
strangers are allowed, fewer per address, and none stays for long: one that sends its headers byte
by byte is cut off in time. A worker keeps its connections, a few per pod.
"""

import asyncio
import resource
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from plimsoll.errors import TooOften
from plimsoll.kube.queues.budgets import Budgets
from plimsoll.vocabulary import metrics

MOST: Final = 32_768
"""Ten thousand workers have two each."""
MOST_STRANGERS: Final = 2_048


@dataclass(frozen=True, slots=True)
class ConnectionTerms:
    """How many connections are allowed, and how long strangers may stay.

    Workers of one node may share an address, if the network translates addresses. An address
    refused `refusals_at_once` times is then served at most `refusals_per_second`.
    """

    most: int
    strangers: int = MOST_STRANGERS
    strangers_of_an_address: int = 256
    of_a_pod: int = 16
    stranger_seconds: float = 15.0
    refusals_at_once: int = 500
    refusals_per_second: float = 20.0

    @classmethod
    def here(cls) -> "ConnectionTerms":
        """The most that this process can have without running out of files for everything else."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MOST if files == resource.RLIM_INFINITY else min(MOST, files // 2)
        return cls(most=most, strangers=min(MOST_STRANGERS, most // 2))


class Connections:
    """The open connections. It belongs to the event loop that it is used in."""

    def __init__(
        self, terms: ConnectionTerms, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._terms = terms
        self._strangers: dict[asyncio.BaseTransport, asyncio.TimerHandle] = {}
        self._of_address: Counter[str] = Counter()
        self._pods: dict[asyncio.BaseTransport, str] = {}
        self._of_pod: Counter[str] = Counter()
        self._refusals = Budgets[str](
            terms.refusals_at_once, terms.refusals_per_second, clock=clock
        )

    def __len__(self) -> int:
        """The number of connections."""
        return len(self._strangers) + len(self._pods)

    def made(self, transport: asyncio.Transport) -> bool:
        """Accept a connection for a while; False if it must be closed at once."""
        cause = self._against(address_of(transport))
        if cause:
            metrics.WORKER_CONNECTIONS_REFUSED.labels(cause).inc()
            return False
        later = asyncio.get_running_loop().call_later
        late = later(self._terms.stranger_seconds, self._show_out, transport)
        self._strangers[transport] = late
        self._of_address[address_of(transport)] += 1
        metrics.WORKER_CONNECTIONS.set(len(self))
        return True

    def prove(self, transport: asyncio.BaseTransport, pod_uid: str) -> None:
        """Mark a connection as a worker's. Raises TooOften if that worker has too many."""
        before = self._pods.get(transport)
        if before == pod_uid:
            return
        if self._of_pod[pod_uid] >= self._terms.of_a_pod:
            raise TooOften(f"a worker may have {self._terms.of_a_pod} connections; close some")
        if before is not None:
            self._release(before)
        self._end_of_stranger(transport)
        self._pods[transport] = pod_uid
        self._of_pod[pod_uid] += 1

    def refused(self, transport: asyncio.BaseTransport) -> None:
        """Note a refused request: an address with too many is no longer served."""
        self._refusals.spend(address_of(transport))

    def lost(self, transport: asyncio.BaseTransport) -> None:
        """Forget a connection."""
        self._end_of_stranger(transport)
        pod = self._pods.pop(transport, None)
        if pod is not None:
            self._release(pod)
        metrics.WORKER_CONNECTIONS.set(len(self))

    def _against(self, address: str) -> str:
        terms = self._terms
        if not self._refusals.has_left(address):
            return "Refused too often"
        if self._of_address[address] >= terms.strangers_of_an_address:
            return "Too many of an address"
        is_full = len(self._strangers) >= terms.strangers or len(self) >= terms.most
        return "Too many" if is_full else ""

    def _show_out(self, transport: asyncio.Transport) -> None:
        metrics.WORKER_CONNECTIONS_REFUSED.labels("Too slow").inc()
        self._refusals.spend(address_of(transport))
        transport.abort()

    def _end_of_stranger(self, transport: asyncio.BaseTransport) -> None:
        late = self._strangers.pop(transport, None)
        if late is None:
            return
        late.cancel()
        _take_one(self._of_address, address_of(transport))

    def _release(self, pod_uid: str) -> None:
        _take_one(self._of_pod, pod_uid)


class Guarded(asyncio.Protocol):
    """A connection that passes its events on to `inner`, if it is let in at all."""

    def __init__(self, inner: Callable[[], asyncio.Protocol], connections: Connections) -> None:
        self._make, self._connections = inner, connections
        self._inner: asyncio.Protocol | None = None
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let it in, or close it."""
        opened = cast("asyncio.Transport", transport)
        if not self._connections.made(opened):
            opened.abort()
            return
        self._transport, self._inner = transport, self._make()
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        if self._inner is not None and self._transport is not None:
            self._connections.lost(self._transport)
            self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Data arrived."""
        if self._inner is not None:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """No more data will arrive."""
        return self._inner.eof_received() if self._inner is not None else None

    def pause_writing(self) -> None:
        """The other end does not read."""
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """The other end reads again."""
        if self._inner is not None:
            self._inner.resume_writing()


def address_of(transport: asyncio.BaseTransport) -> str:
    """The address of the other end, without its port."""
    peer: object = transport.get_extra_info("peername")
    return str(cast("tuple[object, ...]", peer)[0]) if isinstance(peer, tuple) else ""


def _take_one(counts: Counter[str], key: str) -> None:
    counts[key] -= 1
    if counts[key] <= 0:
        del counts[key]
