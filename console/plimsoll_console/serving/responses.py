"""Responses with the headers that all have: what is sent is never run as anything else."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from plimsoll_console.errors import AskRefused
from plimsoll_console.messages.base import Message, Problem
from plimsoll_console.serving.encoded import Encoded, encode
from plimsoll_console.serving.files import PageFile

JSON: Final = "application/json"
_PRIVATE: Final = "private, no-cache"
_MAY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
}
POLICY: Final = "; ".join(f"{what} {whence}" for what, whence in _MAY.items())
SECURITY: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def of_message(message: Message) -> web.Response:
    """A message that is for one user alone."""
    headers = {hdrs.CACHE_CONTROL: "no-store"}
    return web.Response(body=encode(message), content_type=JSON, headers=headers)


def of_encoded(request: web.Request, found: Encoded) -> web.Response:
    """A view; 304 if the reader has that version."""
    content = found.body, found.compressed
    return _tagged(request, found.version, content, JSON)


def of_file(request: web.Request, found: PageFile) -> web.Response:
    """A file of the page; 304 if the reader has it."""
    content = found.body, found.compressed
    return _tagged(request, found.tag, content, found.content_type)


def of_problems(problems: Sequence[str], status: int) -> web.Response:
    """Why a request was refused."""
    headers = {hdrs.CACHE_CONTROL: "no-store"}
    if status == HTTPStatus.UNAUTHORIZED:
        headers[hdrs.WWW_AUTHENTICATE] = 'Bearer realm="plimsoll"'
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers[hdrs.RETRY_AFTER] = "5"
    body = encode(Problem(tuple(problems)))
    return web.Response(body=body, status=status, content_type=JSON, headers=headers)


def of_refusal(error: AskRefused) -> web.Response:
    """The same of an error."""
    return of_problems((str(error),), error.status)


def _tagged(
    request: web.Request, tag: str, content: tuple[bytes, bytes | None], content_type: str
) -> web.Response:
    headers = {
        hdrs.CACHE_CONTROL: _PRIVATE,
        hdrs.ETAG: f'"{tag}"',
        hdrs.VARY: f"{hdrs.AUTHORIZATION}, {hdrs.ACCEPT_ENCODING}",
    }
    if f'"{tag}"' in request.headers.get(hdrs.IF_NONE_MATCH, ""):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    body, compressed = content
    if compressed is not None and "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, ""):
        body, headers[hdrs.CONTENT_ENCODING] = compressed, "gzip"
    headers[hdrs.CONTENT_TYPE] = content_type
    return web.Response(body=body, headers=headers)
