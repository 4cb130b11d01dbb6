"""Send single requests to the API server: turns, timeouts, the fence, retries, counters.

The requests themselves are in `client`.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import aiohttp
from yarl import URL

from plimsoll.errors import ApiError, NotLeader, TooLarge, TooManyRequests, Unavailable
from plimsoll.kube.http.concurrency import Bounds, ConcurrencyLimit, Gate
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.pace import Pace
from plimsoll.kube.http.resources import ApiPath
from plimsoll.kube.http.responses import failure
from plimsoll.vocabulary import metrics

JSON = "application/json"
METADATA_ONLY = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""What a response is asked for if nothing of an object is needed but its metadata."""
_READS = frozenset({"get", "list", "watch"})


@dataclass(frozen=True, slots=True)
class Limits:
    """How much load the API server gets, and the timeouts.

    `writes_per_second` is 0 if only the server's own priority and fairness limits writes. Where a
    `ConcurrencyLimit` is given, it takes the place of `writes_at_once`.
    `attempts` bounds the tries of one request: reads after any failure that may pass, writes only
    if the server has said that it did not carry them out. `connect_seconds` is less than the time
    between a leader's last write and another's first (`lease.LeaseTerms`), because a write past the
    fence may wait that long before it is sent. A list that sends nothing for `silence_seconds` has
    lost its connection; connections idle for `idle_seconds` are closed, so that dead ones are not
    discovered one by one. `response_bytes` bounds each response if what is read may be anything.
    """

    writes_at_once: int = 32
    reads_at_once: int = 16
    writes_per_second: float = 0.0
    request_seconds: float = 10.0
    list_seconds: float = 60.0
    silence_seconds: float = 20.0
    idle_seconds: float = 15.0
    connect_seconds: float = 2.5
    attempts: int = 4
    first_retry_seconds: float = 0.1
    longest_retry_seconds: float = 5.0
    response_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request; `verb` is Kubernetes' word for it, `method` HTTP's."""

    verb: str
    method: str
    path: ApiPath
    body: bytes | None = None
    content_type: str = JSON
    query: Mapping[str, str] | None = None
    accept: str = JSON

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing."""
        return self.verb in _READS


def retry_seconds(
    request: Request, error: ApiError, *, attempt: int, limits: Limits
) -> float | None:
    """How long to wait before retrying `request` after `error`; None: do not retry.

    `attempt` counts from 1. A write is repeated only if the server said when to come back, since
    then it was not carried out.
    """
    if attempt >= limits.attempts or not isinstance(error, TooManyRequests | Unavailable):
        return None
    if error.retry_after_seconds is not None:
        return min(error.retry_after_seconds, limits.longest_retry_seconds)
    if not request.is_read:
        return None
    return min(limits.first_retry_seconds * 2 ** (attempt - 1), limits.longest_retry_seconds)


class Sender(Protocol):
    """Sends requests to one API server, by whatever means."""

    async def send(self, request: Request) -> bytes:
        """The body of the server's response; raises ApiError, or NotLeader at a closed fence."""
        ...

    def stream(
        self, request: Request, *, silence_seconds: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The server's response as it arrives, in chunks that end anywhere.

        Raises Unavailable, also from the iterator, if nothing arrives for `silence_seconds`.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class Transport:
    """Sends requests to one API server until it is closed.

    `may_write` is the fence: it is called right before each write is sent.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        may_write: Callable[[], bool],
        limits: Limits,
        writes_at_once: ConcurrencyLimit | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._may_write = may_write
        self._limits = limits
        self._at_once = writes_at_once or ConcurrencyLimit(Bounds.fixed(limits.writes_at_once))
        self._writes = Gate(self._at_once)
        self._reads = asyncio.Semaphore(limits.reads_at_once)
        self._pace = Pace(limits.writes_per_second)
        self._session = aiohttp.ClientSession(
            # The semaphores bound requests in flight; watches come on top.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=limits.idle_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Otherwise the server compresses everything large, which costs both sides more than the
            # network of a cluster does.
            headers={"Accept-Encoding": "identity", "User-Agent": "plimsoll"},
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def send(self, request: Request) -> bytes:
        """The body of the server's response; raises ApiError, or NotLeader at a closed fence."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._sent_once(request)
            except ApiError as error:
                _count_failure(request, error)
                wait = retry_seconds(request, error, attempt=attempt, limits=self._limits)
                if wait is None:
                    raise
            # Jitter, so that requests that failed together are not retried together.
            await asyncio.sleep(wait * random.uniform(1.0, 1.25))  # noqa: S311 - no secret

    @asynccontextmanager
    async def stream(
        self, request: Request, *, silence_seconds: float
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The server's response as it arrives, in chunks that end anywhere.

        Raises Unavailable, also from the iterator, if nothing arrives for `silence_seconds`.
        """
        timeout = aiohttp.ClientTimeout(
            sock_connect=self._limits.connect_seconds, sock_read=silence_seconds
        )
        with _translated():
            async with self._opened(request, timeout) as response:
                if not response.ok:
                    raise failure(response.status, await response.read())
                yield response.content.iter_any()

    async def _sent_once(self, request: Request) -> bytes:
        begun = time.perf_counter()
        async with self._reads if request.is_read else self._writes.passed():
            if request.is_read:
                body = await self._response_body(request)
            else:
                body = await self._written(request)
        metrics.API_SECONDS.labels(request.verb).observe(time.perf_counter() - begun)
        return body

    async def _written(self, request: Request) -> bytes:
        """The response to a write; how long it took says how many may be in flight."""
        await self._pace.turn()
        self._pass_fence(request)
        sent = time.monotonic()
        try:
            body = await self._response_body(request)
        except TooManyRequests:
            self._at_once.rejected(sent)
            raise
        self._at_once.answered(time.monotonic() - sent, self._writes.inside)
        return body

    def _pass_fence(self, request: Request) -> None:
        if not self._may_write():
            raise NotLeader(f"{request.verb} of {request.path.url} was not sent: no lease is held")
        metrics.API_WRITES.labels(request.verb, request.path.resource).inc()

    async def _response_body(self, request: Request) -> bytes:
        limits = self._limits
        seconds = limits.list_seconds if request.verb == "list" else limits.request_seconds
        timeout = aiohttp.ClientTimeout(
            total=seconds, sock_connect=limits.connect_seconds, sock_read=limits.silence_seconds
        )
        with _translated():
            async with self._opened(request, timeout) as response:
                body = await _body(response, limits.response_bytes)
                if response.ok:
                    return body
                raise failure(response.status, body, response.headers.get("Retry-After"))

    def _opened(
        self, request: Request, timeout: aiohttp.ClientTimeout
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        headers = {"Accept": request.accept}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        authorization = self._endpoint.authorization()
        if authorization is not None:
            headers["Authorization"] = authorization
        return self._session.request(
            request.method,
            # Verbatim: unquoted and normalised, a name could lead elsewhere.
            URL(self._endpoint.server + request.path.url, encoded=True),
            data=request.body,
            params=request.query,
            headers=headers,
            timeout=timeout,
            ssl=self._endpoint.tls or False,
            server_hostname=self._endpoint.server_hostname,
            proxy=self._endpoint.proxy,
            allow_redirects=False,
        )


async def _body(response: aiohttp.ClientResponse, most_bytes: int | None) -> bytes:
    if most_bytes is None:
        return await response.read()
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > most_bytes:
            raise TooLarge(f"the answer is larger than {most_bytes} bytes")
    return bytes(body)


def _count_failure(request: Request, error: ApiError) -> None:
    metrics.API_ERRORS.labels(request.verb, request.path.resource, type(error).__name__).inc()


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except TimeoutError as error:
        raise Unavailable(f"no answer in time: {error}".removesuffix(": ")) from error
    except (aiohttp.ClientError, OSError) as error:
        raise Unavailable(f"the API server cannot be reached: {error}") from error
