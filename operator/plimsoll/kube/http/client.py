"""How the API server is asked and told: one small asynchronous client over msgspec.

Bodies go out as any mix of mappings and structs, answers come back as the type that is asked for.
How a request gets there, and when it is tried again, stands in `transport`; what to write is
decided elsewhere.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from plimsoll.errors import Undecodable
from plimsoll.kube.http.answers import decoded
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import FIELD_MANAGER, ApiPath
from plimsoll.kube.http.tolerant_decoding import Page, page
from plimsoll.kube.http.transport import Limits, Request, Transport
from plimsoll.kube.objects.objects import ObjectMeta

T = TypeVar("T")

_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"
_QUERY = {"fieldManager": FIELD_MANAGER}
_APPLY_QUERY = {**_QUERY, "force": "true"}
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a collection are meant, by the server's own selectors."""

    labels: str = ""
    fields: str = ""

    @property
    def query(self) -> dict[str, str]:
        """As query parameters."""
        pairs = (("labelSelector", self.labels), ("fieldSelector", self.fields))
        return {key: value for key, value in pairs if value}


@dataclass(frozen=True, slots=True)
class Deletion:
    """How an object is deleted, and what must be true of it; None leaves that to the server.

    `propagation` is Background, Foreground or Orphan.
    """

    uid: str | None = None
    resource_version: str | None = None
    grace_seconds: int | None = None
    propagation: str | None = None

    @property
    def options(self) -> dict[str, object]:
        """As the API's DeleteOptions."""
        must_be = {"uid": self.uid, "resourceVersion": self.resource_version}
        options = {
            "preconditions": {key: value for key, value in must_be.items() if value} or None,
            "gracePeriodSeconds": self.grace_seconds,
            "propagationPolicy": self.propagation,
        }
        return {key: value for key, value in options.items() if value is not None}


class _Gone(msgspec.Struct):
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


class KubeClient:
    """Asks and tells one API server; an asynchronous context manager.

    `may_write` is the fence: it is asked right before each write is sent, which otherwise raises
    NotLeader. All methods raise ApiError.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        may_write: Callable[[], bool] = lambda: True,
        limits: Limits | None = None,
    ) -> None:
        self._transport = Transport(endpoint, may_write=may_write, limits=limits or Limits())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.close()

    async def get(self, path: ApiPath, type_: type[T]) -> T:
        """The object at `path`."""
        return decoded(await self._transport.send(Request("get", "GET", path)), type_)

    async def pages(
        self,
        path: ApiPath,
        type_: type[T],
        *,
        selection: Selection | None = None,
        page_size: int = 500,
    ) -> AsyncIterator[Page[T]]:
        """The collection at `path` page by page, all of one version.

        Raises Gone when that takes so long that the server forgets the version: begin again.
        """
        query = {"limit": str(page_size), **(selection or Selection()).query}
        while True:
            answer = await self._transport.send(Request("list", "GET", path, query=dict(query)))
            found = page(answer, type_)
            yield found
            if not found.metadata.continue_:
                return
            query["continue"] = found.metadata.continue_

    async def list_all(
        self, path: ApiPath, type_: type[T], *, selection: Selection | None = None
    ) -> list[T]:
        """All objects of the collection at `path`; a list-watch is cheaper when asked often.

        Raises Undecodable where one of them cannot be read.
        """
        items: list[T] = []
        async for part in self.pages(path, type_, selection=selection):
            if part.unread:
                raise Undecodable(part.unread[0].error)
            items.extend(part.items)
        return items

    async def create(self, path: ApiPath, body: object, type_: type[T]) -> T:
        """Create an object in the collection at `path`; the object as it was stored.

        Raises AlreadyExists.
        """
        request = Request("create", "POST", path, _encode(body))
        return decoded(await self._transport.send(request), type_)

    async def replace(self, path: ApiPath, body: object, type_: type[T]) -> T:
        """Write the whole object; `body` names the resourceVersion that it replaces.

        Raises Conflict when the object has changed since.
        """
        request = Request("update", "PUT", path, _encode(body))
        return decoded(await self._transport.send(request), type_)

    async def merge_patch(self, path: ApiPath, body: object, type_: type[T]) -> T:
        """Overlay `body` on the object; where it names a resourceVersion, raises Conflict."""
        return await self._patch(path, body, type_, _MERGE_PATCH)

    async def json_patch(self, path: ApiPath, operations: object, type_: type[T]) -> T:
        """Carry out RFC 6902 `operations` on the object; a `test` that fails raises Invalid."""
        return await self._patch(path, operations, type_, _JSON_PATCH)

    async def apply(self, path: ApiPath, body: object, type_: type[T]) -> T:
        """Apply `body` on the server's side, taking over the fields that others own."""
        return await self._patch(path, body, type_, _APPLY_PATCH)

    async def patch_status(
        self, path: ApiPath, status: object, type_: type[T], *, resource_version: str
    ) -> T:
        """Overlay `status` at `path` (that of the subresource) if it is still in that version.

        Raises Conflict where it is not.
        """
        body = {"metadata": {"resourceVersion": resource_version}, "status": status}
        return await self.merge_patch(path, body, type_)

    async def delete(self, path: ApiPath, type_: type[T], how: Deletion | None = None) -> T | None:
        """Delete the object; as it was last, where the server shows it.

        A pod with a grace period is shown with its deletion timestamp, and goes later. What
        somebody else removes at the same moment is shown in no version, and so is None. Raises
        NotFound, and Conflict when it is not the object that `how` means.
        """
        request = Request("delete", "DELETE", path, _encode((how or Deletion()).options))
        answer = await self._transport.send(request)
        gone = decoded(answer, _Gone)
        if gone.kind == "Status" or not gone.metadata.resource_version:
            return None
        return decoded(answer, type_)

    def watch(
        self, path: ApiPath, query: Mapping[str, str], *, silence_seconds: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """An open watch as a stream of bytes: lines of JSON in chunks that end anywhere.

        Raises Unavailable when nothing at all comes for `silence_seconds`.
        """
        request = Request("watch", "GET", path, query={"watch": "true", **query})
        return self._transport.stream(request, silence_seconds=silence_seconds)

    async def _patch(self, path: ApiPath, body: object, type_: type[T], content_type: str) -> T:
        query = _APPLY_QUERY if content_type == _APPLY_PATCH else _QUERY
        request = Request("patch", "PATCH", path, _encode(body), content_type, query)
        return decoded(await self._transport.send(request), type_)
