"""Turn a response of the API server into a decoded object or one of our errors.

Pure: it needs no connection.
"""

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

import msgspec

from plimsoll.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Refused,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Undecodable,
)
from plimsoll.kube.objects.objects import Status
from plimsoll.kube.objects.shallow import shallow

T = TypeVar("T")

_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
}
_SERVER_FAILED = 500


def decoded(body: bytes, type_: type[T]) -> T:
    """Decode `body` as `type_`; raises Undecodable.

    Anything nested deeper than a decoder can go is dropped.
    """
    try:
        try:
            return _decoder(type_).decode(body)
        except RecursionError:
            return _decoder(type_).decode(shallow(body))
    except (msgspec.DecodeError, ValueError, ArithmeticError) as error:
        raise Undecodable(f"cannot read a {type_.__name__}: {error}") from error


def failure(http_status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The error for a response with `http_status`."""
    try:
        status = decoded(body, Status)
    except Undecodable:
        status = Status(message=body[:200].decode(errors="replace"))
    return failure_of(status, http_status=http_status, retry_after=retry_after)


def failure_of(status: Status, *, http_status: int = 0, retry_after: str | None = None) -> ApiError:
    """The error for a Status object, whether a response or a watch's last event."""
    code = http_status or status.code
    message = status.message or f"HTTP status {code}"
    wait = _seconds(retry_after, status)
    if code == TooManyRequests.STATUS:
        return TooManyRequests(message, retry_after_seconds=wait or 1.0, reason=status.reason)
    if code >= _SERVER_FAILED:
        return Unavailable(message, status=code, reason=status.reason, retry_after_seconds=wait)
    error = AlreadyExists if status.reason == "AlreadyExists" else _BY_STATUS.get(code, Refused)
    return error(message, status=code, reason=status.reason)


def _seconds(retry_after: str | None, status: Status) -> float | None:
    if retry_after and retry_after.isdigit():
        return float(retry_after)
    if status.details is not None and status.details.retry_after_seconds > 0:
        return float(status.details.retry_after_seconds)
    return None


@cache
def _decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(type_)
