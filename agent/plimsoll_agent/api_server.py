"""The only module that talks to the API server: one Node, one Lease, and nothing else."""

import socket
import ssl
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import urllib3

from plimsoll_agent.errors import ApiError

MERGE_PATCH = "application/merge-patch+json"
_CONNECT_SECONDS = 5
_ANSWER_SECONDS = 10
# Detects a connection whose other end has vanished after 25 s, not at the end of the watch.
_KEEP_ALIVE = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),  # urllib3's own default
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
]


class _Status(msgspec.Struct):
    message: str


class ApiServer:
    """A connection that threads may share; each method raises ApiError."""

    def __init__(self, url: str, *, token_file: Path, ca_file: Path) -> None:
        self._url = url.rstrip("/")
        self._token_file = token_file
        self._pool = urllib3.PoolManager(
            retries=False, ssl_context=_tls(ca_file), socket_options=_KEEP_ALIVE
        )

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The object at `path`."""
        return self._answer("GET", path, query).data

    def merge(self, path: str, patch: bytes) -> bytes:
        """Merge fields into the object at `path`; return the result."""
        return self._answer("PATCH", path, body=patch, content_type=MERGE_PATCH).data

    def watch(
        self, path: str, query: Mapping[str, str], *, silence_seconds: float
    ) -> Iterator[bytes]:
        """The events of a watch, one line each, until the server ends it."""
        asked = {**query, "watch": "true"}
        response = self._answer("GET", path, asked, silence_seconds=silence_seconds)
        with _translated():
            try:
                yield from _lines(response)
            finally:
                response.close()

    def _answer(  # noqa: PLR0913 - all that an HTTP request is made of
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: bytes | None = None,
        content_type: str = "application/json",
        silence_seconds: float | None = None,
    ) -> urllib3.BaseHTTPResponse:
        with _translated():
            response = self._pool.request(
                method,
                f"{self._url}{path}" + (f"?{urlencode(query)}" if query else ""),
                body=body,
                headers={**self._authorization(), "Content-Type": content_type},
                timeout=urllib3.Timeout(
                    connect=_CONNECT_SECONDS, read=silence_seconds or _ANSWER_SECONDS
                ),
                preload_content=silence_seconds is None,
            )
            if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                raise ApiError(response.status, _message(response.data))
            return response

    def _authorization(self) -> dict[str, str]:
        # The kubelet replaces the token there before it expires.
        return {"Authorization": f"Bearer {self._token_file.read_text().strip()}"}


def _message(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Status).message
    except msgspec.DecodeError:
        return body.decode(errors="replace")[:300]


def _tls(ca_file: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file)
    # Python 3.13 rejects authorities without the extensions that kubeadm and others omit.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise ApiError(0, f"{type(error).__name__}: {error}") from error
