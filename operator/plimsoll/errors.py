"""The errors raised at the borders, as one tree.

- PlimsollError
  - ApiError                 the API server refused a request or could not be reached
    - NotFound               404
    - Conflict               409: the object has changed since it was read
      - AlreadyExists        409 on a create
    - Gone                   410: the version to continue from has expired; list again
    - Refused                4xx that the same request would get again
      - Forbidden            403: permission is missing, or a quota is used up
      - Invalid              400, 422: the message names the field
    - Unauthorized           401: the credentials are rejected; a renewed token may work
    - TooManyRequests        429; `retry_after_seconds` says how long to wait
    - Unavailable            5xx, no connection, no response in time: the outcome is unknown
      - Undecodable          a response with a good status does not match its type
    - TooLarge               a response exceeds its size limit
  - UnsafePath               a name would lead to another API path; nothing was sent
  - NoCluster                no API server is configured
  - NotLeader                a write was requested without the lease; nothing was sent
  - InvalidQuantity          a text is not a Kubernetes quantity
  - UnusableTarget           a workload that a job targets cannot be planned
  - UnusableWorkload         a workload that asks to be planned cannot be
  - BadInput                 user input cannot be used; each problem names its place
    - NothingFound           what the user names does not exist
    - UnusableCluster        the cluster cannot be reached, or the user may not read it
  - UnusablePrices           the price catalogue cannot be used; the message names the field
  - PrometheusError          Prometheus refused a query or could not be reached
    - PrometheusRefused      our credentials or the query are wrong; a retry would not help
    - PrometheusUnavailable  no connection, no response in time, 5xx, 429
    - PrometheusUnusable     the result is too large, or not in its documented form
  - WorkerRefused            a worker's request is refused with the HTTP status `status`
    - BadReport              400: the message names the field and what to send instead
    - UnknownToken           401: it is not made for us, not a pod's, or no longer valid
    - NoWorker               403: the token's pod is not a worker of the job
    - TooSlow                408: the request was not completed in time
    - TooOften               429: the request exceeds a limit

A job that cannot be placed, a search that ran out of time and an unknown optimum are results, not
errors.
"""

from collections.abc import Sequence

# ruff: noqa: N818 - the names are those of the Kubernetes API.


class PlimsollError(Exception):
    """The root of all Plimsoll errors."""


class ApiError(PlimsollError):
    """The API server refused a request or could not be reached.

    `status` is the HTTP status, 0 if there was none; `reason` and `message` are those of the
    server's Status object.
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason


class NotFound(ApiError):
    """The object does not exist."""


class Conflict(ApiError):
    """The object has a different version than the request was made for."""


class AlreadyExists(Conflict):
    """An object of that name already exists."""


class Gone(ApiError):
    """The version to continue from has expired: list again."""


class Refused(ApiError):
    """The server understood the request and refused it; it would do so again."""


class Forbidden(Refused):
    """Permission is missing, or an admission rule or quota forbids it."""


class Invalid(Refused):
    """The object violates its schema; the message names the field."""


class Unauthorized(ApiError):
    """The server rejects our credentials; this says nothing about the request itself."""


class TooManyRequests(ApiError):
    """The server asks to retry later."""

    STATUS = 429

    def __init__(self, message: str, *, retry_after_seconds: float, reason: str = "") -> None:
        super().__init__(message, status=self.STATUS, reason=reason)
        self.retry_after_seconds = retry_after_seconds


class Unavailable(ApiError):
    """The server failed or did not respond: whether the request was carried out is unknown.

    If the server says when to retry, it was not carried out.
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
    """A response exceeds its size limit; the rest was not read."""


class UnsafePath(PlimsollError):
    """A name is not a single path segment: with it, the request would reach a different object."""


class Undecodable(Unavailable):
    """The server's response does not match its type; the request may have been carried out."""


class UnusablePrices(PlimsollError):
    """The price catalogue cannot be used; the message names the file, the field and the remedy."""


class NoCluster(PlimsollError):
    """No API server is configured, or its configuration cannot be read."""


class NotLeader(PlimsollError):
    """A write was requested while another replica may hold the lease; nothing was sent."""


class InvalidQuantity(PlimsollError, ValueError):
    """A text is not a Kubernetes quantity."""


class UnusableTarget(PlimsollError):
    """A workload cannot be planned; the message says why and what to change."""


class UnusableWorkload(PlimsollError):
    """A workload of another kind cannot be planned; the message says why and what to change."""


class BadInput(PlimsollError):
    """User input cannot be used; `problems` says for each problem where it is and what to do."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class NothingFound(BadInput):
    """What the user names does not exist; `problems` says what does."""


class UnusableCluster(BadInput):
    """The cluster cannot be reached, or does not let the user read what is needed."""


class PrometheusError(PlimsollError):
    """Prometheus gave no usable result."""


class PrometheusRefused(PrometheusError):
    """Prometheus understood and refused, or our credentials cannot be read."""


class PrometheusUnavailable(PrometheusError):
    """Prometheus failed, could not be reached, or did not respond in time."""


class PrometheusUnusable(PrometheusError):
    """A result from Prometheus is too large, or not in its documented form."""


class WorkerRefused(PlimsollError):
    """A worker's request was refused."""

    status = 400


class BadReport(WorkerRefused):
    """A worker's report cannot be used; the message names the field and what to send instead."""


class UnknownToken(WorkerRefused):
    """The token is missing, not made for us, not bound to a pod, or no longer valid."""

    status = 401


class NoWorker(WorkerRefused):
    """The pod does not exist, or is not a worker of the job it names."""

    status = 403


class TooSlow(WorkerRefused):
    """A request was started but not completed in time."""

    status = 408


class TooOften(WorkerRefused):
    """The request exceeds a limit; it may succeed later."""

    status = 429
