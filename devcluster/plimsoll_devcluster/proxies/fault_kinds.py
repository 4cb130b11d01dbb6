"""The faults that may lie between an operator and its API server, and the requests they hit."""

from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from aiohttp import web

from plimsoll_devcluster.proxies.passing_on import READS


class Fault(StrEnum):
    """What goes wrong."""

    DELAYED = "delayed"
    THROTTLED = "429"
    CONFLICT = "409"
    FAILED = "500"
    ANSWER_LOST = "answer lost"
    TOKEN_EXPIRED = "401"  # noqa: S105 - a status, no secret
    GONE = "410"
    CUT = "connections cut"
    HALF_OPEN = "half-open"
    SILENT = "silent"
    KILLED = "operator killed"
    KILLED_BETWEEN_WRITES = "operator killed between two writes"


OF_WRITES = (Fault.CONFLICT, Fault.ANSWER_LOST)
OF_ANSWERS = (
    Fault.DELAYED,
    Fault.THROTTLED,
    Fault.CONFLICT,
    Fault.FAILED,
    Fault.ANSWER_LOST,
    Fault.TOKEN_EXPIRED,
)
REFUSALS = {
    Fault.THROTTLED: (HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests"),
    Fault.CONFLICT: (HTTPStatus.CONFLICT, "Conflict"),
    Fault.FAILED: (HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError"),
    Fault.TOKEN_EXPIRED: (HTTPStatus.UNAUTHORIZED, "Unauthorized"),
}
_FORGOTTEN = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)


@dataclass
class Armed:
    """A fault of responses that waits for `requests` whose path contains `within`."""

    fault: Fault
    requests: int
    within: str = ""

    def hits(self, request: web.Request) -> bool:
        """Whether this request is one of them."""
        if is_watch(request) or self.within not in request.path:
            return False
        return self.fault not in OF_WRITES or request.method not in READS


def is_watch(request: web.Request) -> bool:
    """Whether a request has no end of its own."""
    return "watch" in request.query


def changes_something(request: web.Request) -> bool:
    """Whether it is a write; leader election does not count."""
    return request.method not in READS and "/leases" not in request.path


def refusal(fault: Fault) -> web.Response:
    """The response of a server with that fault."""
    code, reason = REFUSALS[fault]
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": f"injected: {reason}",
    }
    headers = {"Retry-After": "1"} if fault is Fault.THROTTLED else {}
    return web.json_response(status, status=code, headers=headers)


def forgotten() -> web.Response:
    """The response to a watch from a version that the server has forgotten."""
    return web.Response(body=_FORGOTTEN, content_type="application/json")
