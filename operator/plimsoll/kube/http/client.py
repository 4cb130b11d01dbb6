"""A small asynchronous API client based on msgspec.

Bodies may be any mix of mappings and structs; responses are decoded as the requested type. Sending
and retrying are in `transport`; what to write is decided elsewhere.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from plimsoll.errors import Undecodable
from plimsoll.kube.http.concurrency import ConcurrencyLimit
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import FIELD_MANAGER, ApiPath
from plimsoll.kube.http.responses import decoded
from plimsoll.kube.http.tolerant_decoding import Page, page
from plimsoll.kube.http.transport import METADATA_ONLY, Limits, Request, Sender, Transport
from plimsoll.kube.objects.objects import KubeObject, ObjectMeta

T = TypeVar("T")

_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"
_QUERY = {"fieldManager": FIELD_MANAGER}
_APPLY_QUERY = {**_QUERY, "force": "true"}
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects objects of a collection, by the server's own selectors."""

    labels: str = ""
    fields: str = ""

    @property
    def query(self) -> dict[str, str]:
        """As query parameters."""
        pairs = (("labelSelector", self.labels), ("fieldSelector", self.fields))
        return {key: value for key, value in pairs if value}


@dataclass(frozen=True, slots=True)
class Deletion:
    """How an object is deleted, and under which preconditions; None leaves it to the server.

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
    """A client of one API server; an asynchronous context manager. All methods raise ApiError."""

    def __init__(self, transport: Sender) -> None:
        self._transport = transport

    @classmethod
    def to(
        cls,
        endpoint: Endpoint,
        *,
        may_write: Callable[[], bool] = lambda: True,
        limits: Limits | None = None,
        writes_at_once: ConcurrencyLimit | None = None,
    ) -> Self:
        """A client of the API server there.

        `may_write` is the fence: it is called right before each write is sent, which raises
        NotLeader if it is false. `writes_at_once` is adjusted to how the server responds.
        """
        limits = limits or Limits()
        return cls(
            Transport(endpoint, may_write=may_write, limits=limits, writes_at_once=writes_at_once)
        )

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

        Raises Gone if this takes so long that the server forgets the version: start again.
        """
        query = {"limit": str(page_size), **(selection or Selection()).query}
        while True:
            response = await self._transport.send(Request("list", "GET", path, query=dict(query)))
            found = page(response, type_)
            yield found
            if not found.metadata.continue_:
                return
            query["continue"] = found.metadata.continue_

    async def list_all(
        self, path: ApiPath, type_: type[T], *, selection: Selection | None = None
    ) -> list[T]:
        """All objects of the collection at `path`; for frequent reads a list-watch is cheaper.

        Raises Undecodable if one of them cannot be read.
        """
        items: list[T] = []
        async for part in self.pages(path, type_, selection=selection):
            if part.unread:
                raise Undecodable(part.unread[0].error)
            items.extend(part.items)
        return items

    async def create(self, path: ApiPath, body: object, type_: type[T]) -> T:
        """Create an object in the collection at `path`; return it as stored.

        Raises AlreadyExists.
        """
        request = Request("create", "POST", path, _encode(body))
        return decoded(await self._transport.send(request), type_)

    async def replace(self, path: ApiPath, body: object, type_: type[T]) -> T:
        """Write the whole object; `body` names the resourceVersion that it replaces.

        Raises Conflict if the object has changed since.
        """
        request = Request("update", "PUT", path, _encode(body))
        return decoded(await self._transport.send(request), type_)

    async def replace_status(self, path: ApiPath, body: object) -> KubeObject:
        """Write the status in `body` at `path` (that of the subresource); return the metadata.

        All else in `body` only says of which object in which version it is the status: nothing of
        that is written. Raises Conflict if the object has changed since, or is another one. Of all
        writes of a custom resource this costs the server the least: it need not merge anything, nor
        send the object back.
        """
        request = Request("update", "PUT", path, _encode(body), accept=METADATA_ONLY)
        return decoded(await self._transport.send(request), KubeObject)

    async def merge_patch(self, path: ApiPath, body: object, type_: type[T]) -> T:
        """Merge `body` into the object; raises Conflict if it names an outdated resourceVersion."""
        return await self._patch(path, body, type_, _MERGE_PATCH)

    async def json_patch(self, path: ApiPath, operations: object, type_: type[T]) -> T:
        """Apply RFC 6902 `operations` to the object; a failing `test` raises Invalid."""
        return await self._patch(path, operations, type_, _JSON_PATCH)

    async def apply(self, path: ApiPath, body: object, type_: type[T]) -> T:
        """Apply `body` server-side, taking over fields that others own."""
        return await self._patch(path, body, type_, _APPLY_PATCH)

    async def patch_status(
        self, path: ApiPath, status: object, type_: type[T], *, resource_version: str
    ) -> T:
        """Merge `status` at `path` (that of the subresource) if the object still has that version.

        Raises Conflict if not.
        """
        body = {"metadata": {"resourceVersion": resource_version}, "status": status}
        return await self.merge_patch(path, body, type_)

    async def delete(self, path: ApiPath, type_: type[T], how: Deletion | None = None) -> T | None:
        """Delete the object; return its last version, if the server shows it.

        A pod with a grace period is returned with its deletion timestamp, and goes later. An object
        that somebody else removes at the same moment has no version to return, so the result is
        None. Raises NotFound, and Conflict if it is not the object that `how` means.
        """
        request = Request("delete", "DELETE", path, _encode((how or Deletion()).options))
        response = await self._transport.send(request)
        gone = decoded(response, _Gone)
        if gone.kind == "Status" or not gone.metadata.resource_version:
            return None
        return decoded(response, type_)

    def watch(
        self, path: ApiPath, query: Mapping[str, str], *, silence_seconds: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """An open watch as a byte stream: lines of JSON in chunks that end anywhere.

        Raises Unavailable if nothing at all arrives for `silence_seconds`.
        """
        request = Request("watch", "GET", path, query={"watch": "true", **query})
        return self._transport.stream(request, silence_seconds=silence_seconds)

    def log(
        self, path: ApiPath, query: Mapping[str, str], *, silence_seconds: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A container's log at `path` (the pod's subresource) in chunks that end anywhere.

        Raises Unavailable if nothing at all arrives for `silence_seconds`.
        """
        request = Request("get", "GET", path, query=query, accept="*/*")
        return self._transport.stream(request, silence_seconds=silence_seconds)

    async def _patch(self, path: ApiPath, body: object, type_: type[T], content_type: str) -> T:
        query = _APPLY_QUERY if content_type == _APPLY_PATCH else _QUERY
        request = Request("patch", "PATCH", path, _encode(body), content_type, query)
        return decoded(await self._transport.send(request), type_)
