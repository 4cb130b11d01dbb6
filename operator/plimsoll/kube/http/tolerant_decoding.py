"""Read objects one by one, so that an unreadable one affects only itself.

The rest of a list is used. Of a pod as much is used as can be read: what it holds on its node must
not appear free, so a pod whose requests cannot be read holds the whole node, until it is over.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from plimsoll.errors import Undecodable
from plimsoll.kube.http.responses import decoded
from plimsoll.kube.objects.objects import (
    Container,
    ListMeta,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Wire,
)

T = TypeVar("T")

ALL_OF_A_NODE: Final = Container(
    "unreadable", ResourceRequirements(requests={"cpu": "1E", "memory": "1Ei"})
)
"""More than any node has: nothing is placed next to it."""


@dataclass(frozen=True, slots=True)
class Unread:
    """An unreadable object: what it is, as far as known, and why it is unreadable."""

    metadata: ObjectMeta
    error: str


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a list."""

    items: tuple[T, ...]
    unread: tuple[Unread, ...]
    metadata: ListMeta


class _Items(msgspec.Struct, Generic[T], frozen=True, gc=False):
    items: tuple[T, ...] | None = ()
    metadata: ListMeta = ListMeta()


class _Identity(Wire, frozen=True):
    """What identifies an object, and nothing else that could be malformed."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Identified(Wire, frozen=True):
    metadata: _Identity = _Identity()


class _PodParts(Wire, frozen=True):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


class _Node(Wire, frozen=True):
    node_name: str = ""


class _Phase(Wire, frozen=True):
    phase: str = ""


def page(body: bytes, type_: type[T]) -> Page[T]:
    """A page of a list, object by object if it cannot be read at once. Raises Undecodable."""
    try:
        whole = decoded(body, _items_of(type_))
    except Undecodable:
        parts = decoded(body, _items_of(msgspec.Raw))
    else:
        return Page(whole.items or (), (), whole.metadata)
    found = [read(bytes(part), type_) for part in parts.items or ()]
    return Page(
        tuple(each for each in found if not isinstance(each, Unread)),
        tuple(each for each in found if isinstance(each, Unread)),
        parts.metadata,
    )


def read(body: bytes, type_: type[T]) -> T | Unread:
    """An object, as far as it can be read."""
    try:
        return decoded(body, type_)
    except Undecodable as error:
        return _salvaged(body, type_, error)


def _salvaged(body: bytes, type_: type[T], error: Undecodable) -> T | Unread:
    salvage = _SALVAGES.get(type_)
    try:
        if salvage is not None:
            return cast("T", salvage(body))
    except Undecodable:
        pass
    try:
        return Unread(identity(body), str(error))
    except Undecodable:
        return Unread(ObjectMeta(), str(error))


def identity(body: bytes) -> ObjectMeta:
    """An object's identity and version, whatever else it contains. Raises Undecodable."""
    return _identity(decoded(body, _Identified).metadata)


def _identity(known: _Identity) -> ObjectMeta:
    return ObjectMeta(known.name, known.namespace, known.uid, known.resource_version)


def _pod(body: bytes) -> Pod:
    """A pod with an unreadable part; raises Undecodable if that part is its identity."""
    parts = decoded(body, _PodParts)
    return Pod(_meta(bytes(parts.metadata)), _spec(bytes(parts.spec)), _status(bytes(parts.status)))


def _meta(body: bytes) -> ObjectMeta:
    try:
        return decoded(body, ObjectMeta)
    except Undecodable:
        return _identity(decoded(body, _Identity))


def _spec(body: bytes) -> PodSpec:
    try:
        return decoded(body, PodSpec)
    except Undecodable:
        return PodSpec(decoded(body, _Node).node_name, containers=(ALL_OF_A_NODE,))


def _status(body: bytes) -> PodStatus:
    try:
        return decoded(body, PodStatus)
    except Undecodable:
        return PodStatus(decoded(body, _Phase).phase)


_SALVAGES: Final[Mapping[object, Callable[[bytes], Any]]] = {Pod: _pod}


def _items_of(type_: type[T]) -> type[_Items[T]]:
    return _Items[type_]  # pyright: ignore[reportInvalidTypeArguments] - msgspec reads it as data
