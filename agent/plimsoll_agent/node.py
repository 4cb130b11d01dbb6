"""The Node's annotations, kept current by a watch of this one object.

A list, then a watch from its version on; after anything unforeseen a list again.
"""

import random
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from plimsoll_agent.api_server import ApiServer
from plimsoll_agent.errors import ApiError
from plimsoll_agent.report import Report

T = TypeVar("T")

NODES = "/api/v1/nodes"
_WATCH_SECONDS = 60
_GRACE_SECONDS = 10


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Node(msgspec.Struct):
    metadata: _Metadata


class _Nodes(msgspec.Struct):
    metadata: _Metadata
    items: list[_Node]


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class Node:
    """The Node `name`; `changed` is called when its annotations may have changed."""

    def __init__(self, server: ApiServer, name: str, changed: Callable[[], None]) -> None:
        self._server = server
        self._name = name
        self._changed = changed
        self._version = ""
        self._lock = threading.Lock()
        self._known_version = 0
        self._annotations: Mapping[str, str] | None = None

    @property
    def annotations(self) -> Mapping[str, str] | None:
        """Its annotations; None while there is no such Node, or it was not seen yet."""
        return self._annotations

    def follow(self) -> None:
        """List if necessary, then watch until the server ends it. Raises ApiError."""
        try:
            if not self._version:
                self._list()
            self._watch()
        except ApiError:
            self._version = ""
            raise

    def write(self, report: Report) -> None:
        """Write a report into the annotations. Raises ApiError.

        Meanwhile the watch may have told of a later version than the answer is of.
        """
        patch = msgspec.json.encode({"metadata": {"annotations": report.annotations}})
        node = _decoded(self._server.merge(f"{NODES}/{self._name}", patch), _Node)
        with self._lock:
            if int(node.metadata.resource_version) > self._known_version:
                self._know(node, node.metadata.resource_version)

    def _list(self) -> None:
        listed = _decoded(self._server.get(NODES, self._selection), _Nodes)
        self._version = listed.metadata.resource_version
        with self._lock:
            self._know(listed.items[0] if listed.items else None, self._version)
        self._changed()

    def _watch(self) -> None:
        # Random durations keep the watches of many nodes from ending together.
        seconds = random.randint(_WATCH_SECONDS, _WATCH_SECONDS * 4 // 3)  # noqa: S311 - no secret
        query = {
            **self._selection,
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        }
        silence = seconds + _GRACE_SECONDS
        for line in self._server.watch(NODES, query, silence_seconds=silence):
            self._take(_decoded(line, _Event))

    def _take(self, event: _Event) -> None:
        if event.type == "ERROR":
            raise ApiError(0, f"the watch was refused: {bytes(event.object)[:200]!r}")
        node = _decoded(bytes(event.object), _Node)
        self._version = node.metadata.resource_version
        if event.type != "BOOKMARK":
            with self._lock:
                self._know(None if event.type == "DELETED" else node, self._version)
            self._changed()

    def _know(self, node: _Node | None, version: str) -> None:
        self._known_version = int(version)
        self._annotations = None if node is None else node.metadata.annotations or {}

    @property
    def _selection(self) -> dict[str, str]:
        return {"fieldSelector": f"metadata.name={self._name}"}


def _decoded(body: bytes, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.DecodeError as error:
        raise ApiError(0, f"an answer that cannot be read: {error}") from error
