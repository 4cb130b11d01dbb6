"""Poll the operator's Lease, and remember when it last changed.

It is not watched: every node would receive every renewal, which comes every two seconds.
"""

import time
from http import HTTPStatus

import msgspec

from plimsoll_agent.api_server import ApiServer
from plimsoll_agent.errors import ApiError
from plimsoll_agent.operator_life import Life, Sightings

_LOOKS_WITHIN_TIMEOUT = 4
_FIRST_SECONDS = 2.5
"""Longer than the operator takes to renew it: two looks show that it is alive."""


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Lease(msgspec.Struct):
    metadata: _Metadata


class OperatorLease:
    """The Lease `namespace`/`name`, and the silence in seconds that means its holder is dead."""

    def __init__(
        self, server: ApiServer, *, namespace: str, name: str, timeout_seconds: float
    ) -> None:
        self._server = server
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
        self._timeout_seconds = timeout_seconds
        self._seen = Sightings(time.monotonic())

    def life(self) -> Life:
        """Whether the operator is alive, as of now."""
        return self._seen.life(time.monotonic(), timeout_seconds=self._timeout_seconds)

    @property
    def pause_seconds(self) -> float:
        """How long to wait before the next look."""
        regular = self._timeout_seconds / _LOOKS_WITHIN_TIMEOUT
        return min(regular, _FIRST_SECONDS) if self.life() is Life.UNKNOWN else regular

    def look(self) -> None:
        """Look at it once. Raises ApiError, and then nothing was seen."""
        version = self._version()
        self._seen = self._seen.next(version, time.monotonic())

    def _version(self) -> str | None:
        try:
            body = self._server.get(self._path)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        try:
            return msgspec.json.decode(body, type=_Lease).metadata.resource_version
        except msgspec.DecodeError as error:
            raise ApiError(0, f"an answer that cannot be read: {error}") from error
