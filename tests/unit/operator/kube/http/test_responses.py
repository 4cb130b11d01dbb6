import json
from collections.abc import Mapping

import pytest

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
from plimsoll.kube.http.responses import decoded, failure
from plimsoll.kube.objects.objects import Pod


def a_status(
    reason: str, message: str = "no", details: Mapping[str, object] | None = None
) -> bytes:
    return json.dumps({"reason": reason, "message": message, "details": details or {}}).encode()


@pytest.mark.parametrize(
    ("http_status", "reason", "expected"),
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (405, "MethodNotAllowed", Refused),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", Unavailable),
        (504, "Timeout", Unavailable),
    ],
)
def test_each_refusal_has_its_error(
    http_status: int, reason: str, expected: type[ApiError]
) -> None:
    error = failure(http_status, a_status(reason, "spec.x: Required value"))
    assert type(error) is expected
    assert error.message == "spec.x: Required value"
    assert error.reason == reason


def test_a_response_that_is_no_status_is_quoted() -> None:
    error = failure(502, b"<html>bad gateway</html>")
    assert isinstance(error, Unavailable)
    assert error.message == "<html>bad gateway</html>"


@pytest.mark.parametrize(
    ("header", "details", "expected"), [("7", {}, 7.0), (None, {"retryAfterSeconds": 3}, 3.0)]
)
def test_the_server_says_when_to_come_back(
    header: str | None, details: dict[str, object], expected: float
) -> None:
    busy = failure(429, a_status("TooManyRequests", details=details), header)
    starting = failure(503, a_status("ServiceUnavailable", details=details), header)
    assert isinstance(busy, TooManyRequests)
    assert isinstance(starting, Unavailable)
    assert busy.retry_after_seconds == starting.retry_after_seconds == expected


def test_only_the_named_fields_are_read() -> None:
    pod = decoded(
        b'{"kind":"Pod","metadata":{"name":"p","managedFields":[{}]},"spec":{"nodeName":"n"}}', Pod
    )
    assert (pod.metadata.name, pod.spec.node_name) == ("p", "n")


def test_a_response_of_another_shape_is_named() -> None:
    with pytest.raises(Undecodable, match="cannot read a Pod"):
        decoded(b'{"metadata":{"name":1}}', Pod)
