"""Query Prometheus with bounds on time and size, and credentials read anew for each request.

The client library builds the requests and parses the results; the session passed to it enforces the
bounds, of which it has none. Everything here blocks and runs in threads.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Protocol, cast

import msgspec
import requests
from prometheus_api_client import prometheus_connect
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError
from urllib3.util.retry import Retry

from plimsoll.errors import PrometheusRefused, PrometheusUnavailable, PrometheusUnusable
from plimsoll.observe.measured.sample import Query, Span

CHUNK_BYTES = 1 << 16
QUOTED_CHARACTERS = 200
Authorization = Callable[[requests.PreparedRequest], requests.PreparedRequest]


@dataclass(frozen=True, slots=True)
class ConnectionTerms:
    """Where Prometheus is, credentials (paths of files), and bounds on a result."""

    url: str
    token_file: str = ""
    username_file: str = ""
    password_file: str = ""
    ca_file: str = ""
    insecure: bool = False
    timeout_seconds: float = 10.0
    most_bytes: int = 64 << 20


class _Client(Protocol):
    """The part of the client library's class in use."""

    def custom_query(self, query: str, params: dict[str, str]) -> object: ...

    def custom_query_range(
        self,
        query: str,
        start_time: datetime,
        end_time: datetime,
        step: str,
        params: dict[str, str],
    ) -> object: ...


class _Library(Protocol):
    """The part of the client library in use, whose parameters are untyped or typed too narrowly."""

    def PrometheusConnect(  # noqa: N802 - its name
        self, *, url: str, session: "BoundedSession", retry: Retry
    ) -> _Client: ...


_LIBRARY = cast("_Library", prometheus_connect)


class Connection:
    """A connection to one Prometheus. Raises PrometheusError, and nothing else."""

    def __init__(self, terms: ConnectionTerms) -> None:
        # A failed query is repeated when it is next due, not sooner.
        self._session = BoundedSession(terms)
        self._client = _LIBRARY.PrometheusConnect(
            url=terms.url,
            session=self._session,
            retry=Retry(0, read=False),
        )
        self._limits = {"timeout": f"{terms.timeout_seconds:g}s"}

    def now(self, query: Query) -> object:
        """The result of an instant query, undecoded."""
        return self._result(lambda: self._client.custom_query(query.promql, self._limits))

    def over(self, query: Query, span: Span) -> object:
        """The result of a range query, undecoded."""
        return self._result(
            lambda: self._client.custom_query_range(
                query.promql, span.start, span.end, f"{span.step_seconds}", self._limits
            )
        )

    def close(self) -> None:
        """Close all connections."""
        self._session.close()

    def _result(self, ask: Callable[[], object]) -> object:
        try:
            return ask()
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            # Answered with 200, but not by a Prometheus: a login page, perhaps.
            raise PrometheusUnusable(f"the answer is none of Prometheus: {error}") from error


class BoundedSession:
    """The part of `requests.Session` that the client library uses, with bounds on time and size."""

    def __init__(self, terms: ConnectionTerms) -> None:
        self.verify: bool | str = terms.ca_file or not terms.insecure
        self.cert = None
        self._terms = terms
        self._auth = _authorization(terms)
        self._inner = requests.Session()

    def mount(self, prefix: str, adapter: HTTPAdapter) -> None:
        """Use this adapter for addresses with this prefix."""
        self._inner.mount(prefix, adapter)

    def close(self) -> None:
        """Close all connections."""
        self._inner.close()

    def request(self, *, method: str, url: str, params: dict[str, str], **_: object) -> object:
        """A complete response with status 200. Raises PrometheusError."""
        seconds = self._terms.timeout_seconds
        deadline = time.monotonic() + seconds
        try:
            response = self._inner.request(
                method,
                url,
                params=params,
                auth=self._auth,
                timeout=seconds,
                verify=self.verify,
                stream=True,
                allow_redirects=False,
            )
            body = self._body(response, deadline)
        except (requests.Timeout, TimeoutError) as error:
            raise PrometheusUnavailable(f"no answer within {seconds:g} s") from error
        except (OSError, HTTPError) as error:  # all errors of requests are OSErrors
            raise PrometheusUnavailable(f"not reached: {_cause(error)}") from error
        _check(response, body)
        response.raw = BytesIO(body)
        return response

    def _body(self, response: requests.Response, deadline: float) -> bytes:
        """The decompressed body, until it is too large or too late."""
        raw = cast("HTTPResponse", response.raw)
        body = bytearray()
        while chunk := raw.read1(CHUNK_BYTES, decode_content=True):
            body += chunk
            if len(body) > self._terms.most_bytes:
                raw.close()
                raise PrometheusUnusable(f"the answer is larger than {self._terms.most_bytes} B")
            if time.monotonic() > deadline:
                raw.close()
                raise TimeoutError
        return bytes(body)


def _authorization(terms: ConnectionTerms) -> Authorization | None:
    if terms.token_file:
        return lambda request: _with_token(request, terms)
    return (lambda request: _with_password(request, terms)) if terms.username_file else None


def _with_token(
    request: requests.PreparedRequest, terms: ConnectionTerms
) -> requests.PreparedRequest:
    request.headers["Authorization"] = f"Bearer {_content(terms.token_file)}"
    return request


def _with_password(
    request: requests.PreparedRequest, terms: ConnectionTerms
) -> requests.PreparedRequest:
    return HTTPBasicAuth(_content(terms.username_file), _content(terms.password_file))(request)


def _content(file: str) -> str:
    """The current content of a file: mounted secrets and tokens are renewed in place."""
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PrometheusRefused(f"the credentials cannot be read: {error}") from error


class _Problem(msgspec.Struct, frozen=True):
    """Prometheus' error response."""

    error: str


def _check(response: requests.Response, body: bytes) -> None:
    status = response.status_code
    if status == HTTPStatus.OK:
        return
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise PrometheusRefused(f"HTTP {status}: the token or the password is not accepted")
    if 300 <= status < 400:  # noqa: PLR2004 - all redirections
        target = response.headers.get("Location", "")[:QUOTED_CHARACTERS]
        raise PrometheusRefused(f"HTTP {status}: it sends us to {target}, perhaps to log in")
    said = f"HTTP {status}: {_said(body)}"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        raise PrometheusUnavailable(said)
    raise PrometheusRefused(said)


def _said(body: bytes) -> str:
    try:
        said = msgspec.json.decode(body, type=_Problem).error
    except msgspec.DecodeError:
        said = body.decode(errors="replace")
    return said[:QUOTED_CHARACTERS].strip()


def _cause(error: BaseException) -> str:
    """Why a request failed, without its address, which contains the whole query."""
    inner = error.args[0] if error.args else None
    inner = getattr(inner, "reason", inner)
    if not isinstance(inner, BaseException):
        return str(error)
    # urllib3 puts the connection, as an object or by its host, in front of what happened to it.
    return str(inner).partition(": ")[2] or str(inner)
