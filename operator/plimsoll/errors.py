"""What can go wrong at the borders, as one tree.

- PlimsollError
  - ApiError                 the API server refused a request or could not be asked
    - NotFound               404
    - Conflict               409: the object has changed since it was read
      - AlreadyExists        409 on a create
    - Gone                   410: the version to go on from is no longer known; list again
    - Refused                4xx that the same request will meet again
      - Forbidden            403: rights are missing, or a quota is used up
      - Invalid              400, 422: the message names the field
    - Unauthorized           401: who asks is not known; a token that is renewed may be
    - TooManyRequests        429; `retry_after_seconds` says for how long
    - Unavailable            5xx, no connection, no answer in time: nobody knows if it was done
      - Undecodable          an answer is not what its type says, though its status is
    - TooLarge               an answer is larger than what it answers may be
  - UnsafePath               a name would lead to another path of the API; nothing was sent
  - NoCluster                nobody has said where the API server is
  - NotLeader                a write was asked for without holding the lease; nothing was sent
  - InvalidQuantity          a text is no Kubernetes quantity
  - UnusableTarget           a workload that a job targets cannot be planned with, and why
  - BadInput                 files that a user gave cannot be used; each problem names its place
  - PrometheusError          Prometheus refused a query or could not be asked
    - PrometheusRefused      our credentials or the query are wrong; it will say so again
    - PrometheusUnavailable  no connection, no answer in time, 5xx, 429
    - PrometheusUnusable     the answer is too large, or not what its interface says
  - WorkerRefused            a worker is not served; `status` is the HTTP status that it gets
    - BadReport              400: the message names the field and what to send instead
    - UnknownToken           401: it is not made for us, not a pod's, or not valid any more
    - NoWorker               403: the token's pod is no worker of the job
    - TooSlow                408: what was announced did not come
    - TooOften               429: more is asked for than one may have at a time

A job that cannot be placed, a search that ran out of time and an unknown optimum are results,
and stand nowhere here.
"""

from collections.abc import Sequence

# ruff: noqa: N818 - the names are those of the Kubernetes API, which its users know.


class PlimsollError(Exception):
    """The root of all errors of Plimsoll."""


class ApiError(PlimsollError):
    """The API server refused a request or could not be asked.

    `status` is the HTTP status, 0 where there was none; `reason` and `message` are those of the
    server's Status object.
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason


class NotFound(ApiError):
    """There is no such object."""


class Conflict(ApiError):
    """The object is not in the version that the request was made for."""


class AlreadyExists(Conflict):
    """There is an object of that name already."""


class Gone(ApiError):
    """The version to continue from has been forgotten: list again."""


class Refused(ApiError):
    """The server understood and said no; it will say no again."""


class Forbidden(Refused):
    """Rights are missing, or an admission rule or a quota says no."""


class Invalid(Refused):
    """The object breaks its schema; the message names the field."""


class Unauthorized(ApiError):
    """The server does not take our credentials now; it says nothing of what was asked."""


class TooManyRequests(ApiError):
    """The server asks for patience."""

    STATUS = 429

    def __init__(self, message: str, *, retry_after_seconds: float, reason: str = "") -> None:
        super().__init__(message, status=self.STATUS, reason=reason)
        self.retry_after_seconds = retry_after_seconds


class Unavailable(ApiError):
    """The server failed or did not answer: whether the request was carried out is not known.

    Where the server says when to come back it has not carried it out.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after_seconds = retry_after_seconds


class TooLarge(ApiError):
    """An answer is larger than it may be; the rest was not read."""


class UnsafePath(PlimsollError):
    """A name is no segment of a path: with it, another object than is meant would be asked for."""


class Undecodable(Unavailable):
    """An answer of the server is not what its type says; whatever was asked for may be done."""


class NoCluster(PlimsollError):
    """No API server is configured, or what configures it cannot be read."""


class NotLeader(PlimsollError):
    """A write was asked for while another replica may hold the lease; nothing was sent."""


class InvalidQuantity(PlimsollError, ValueError):
    """A text is not a Kubernetes quantity."""


class UnusableTarget(PlimsollError):
    """A workload cannot be planned with; the message says why, and what to change."""


class BadInput(PlimsollError):
    """What a user gave cannot be used; `problems` says of each thing where, what and what to do."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class PrometheusError(PlimsollError):
    """Prometheus gave no answer that can be used."""


class PrometheusRefused(PrometheusError):
    """Prometheus understood and said no, or what should prove who we are cannot be read."""


class PrometheusUnavailable(PrometheusError):
    """Prometheus failed, could not be reached, or did not answer in time."""


class PrometheusUnusable(PrometheusError):
    """An answer of Prometheus is larger than it may be, or not what its interface says."""


class WorkerRefused(PlimsollError):
    """A worker asked for what it does not get."""

    status = 400


class BadReport(WorkerRefused):
    """What a worker sent cannot be used; the message names the field and what to send instead."""


class UnknownToken(WorkerRefused):
    """The token is missing, not made for us, not bound to a pod, or not valid any more."""

    status = 401


class NoWorker(WorkerRefused):
    """The pod is not there, or is no worker of the job that it says."""

    status = 403


class TooSlow(WorkerRefused):
    """A request was begun and not sent to its end."""

    status = 408


class TooOften(WorkerRefused):
    """More is asked for than one may have at a time; later it may be had."""

    status = 429
