"""The known objects of one kind, and which of two versions is newer.

Updates come from three sides: lists, watch events, and the responses to our own writes, which are
mostly ahead of the watch. Resource versions of one kind are compared as the integers that they are
(Kubernetes has promised that since 1.35, and etcd always did). An object that cannot be read counts
in its last readable version. Pure, apart from being a container.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

import msgspec

from plimsoll.errors import Gone
from plimsoll.kube.objects.objects import KubeObject, ObjectMeta

T = TypeVar("T", bound=KubeObject)


class Key(NamedTuple):
    """The key of an object; cluster-wide objects have the namespace ""."""

    namespace: str
    name: str


def key_of(item: KubeObject) -> Key:
    """The key of an object."""
    return Key(item.metadata.namespace, item.metadata.name)


def version_of(item: KubeObject) -> int:
    """The version of an object."""
    return int(item.metadata.resource_version)


class Store(Generic[T]):
    """The objects of one kind. Methods that take one return whether anything relevant changed.

    `keep` returns what is stored for an object; None stands for nothing. `position` is the version
    up to which the watch has reported everything.
    """

    def __init__(self, keep: Callable[[T], T | None]) -> None:
        self.keep = keep
        self._objects: dict[Key, T] = {}
        self._ahead: set[Key] = set()
        self._unread: set[Key] = set()
        self.position = 0

    def __len__(self) -> int:
        """The number of objects."""
        return len(self._objects)

    @property
    def unread(self) -> Collection[Key]:
        """Objects whose current version cannot be read."""
        return self._unread

    @property
    def objects(self) -> Mapping[Key, T]:
        """A live view: copy it before awaiting anything."""
        return MappingProxyType(self._objects)

    def listed(self, items: Iterable[T], version: int, unread: Iterable[ObjectMeta] = ()) -> None:
        """Take a complete list. Only our writes made after it survive next to it.

        What has not changed remains the same object, so that nothing about it is recomputed.
        """
        before = self._objects
        self._unread = {Key(meta.namespace, meta.name) for meta in unread}
        now = {key_of(item): self._known(item) for item in items if version_of(item) <= version}
        self._ahead = {key for key in self._ahead if version_of(before[key]) > version}
        now.update((key, before[key]) for key in self._ahead)
        now.update((key, before[key]) for key in self._unread if key in before)
        self._objects, self.position = now, version

    def _known(self, item: T) -> T:
        """The known object, if it is in this version."""
        known = self._objects.get(key_of(item))
        return known if known is not None and version_of(known) == version_of(item) else item

    def received(self, item: T) -> bool:
        """Take an object that the watch reports as new or changed."""
        self.moved_to(version_of(item))
        return self._put(item, is_ahead=False)

    def received_unreadable(self, meta: ObjectMeta) -> None:
        """Note that the watch reports an object as new or changed that cannot be read."""
        self.moved_to(int(meta.resource_version))
        self._unread.add(Key(meta.namespace, meta.name))

    def deleted(self, meta: ObjectMeta) -> bool:
        """Take an object that the watch reports as deleted, or no longer selected."""
        version = int(meta.resource_version)
        self.moved_to(version)
        key = Key(meta.namespace, meta.name)
        self._unread.discard(key)
        known = self._objects.get(key)
        if known is None or version_of(known) > version:
            return False
        self._drop(key)
        return True

    def moved_to(self, version: int) -> None:
        """Note the watch's position; raises Gone if it went backwards, since history began anew."""
        if version < self.position:
            raise Gone(f"the watch went back from version {self.position} to {version}")
        self.position = version

    def wrote(self, item: T) -> bool:
        """Take the response to a write of ours, unless the watch has reported something newer."""
        if key_of(item) not in self._objects and version_of(item) <= self.position:
            return False  # it has been deleted since, or is not selected
        return self._put(item, is_ahead=version_of(item) > self.position)

    def _put(self, item: T, *, is_ahead: bool) -> bool:
        key = key_of(item)
        known = self._objects.get(key)
        if known is not None and version_of(known) > version_of(item):
            return False
        self._unread.discard(key)
        kept = self.keep(item)
        if kept is None:
            self._drop(key)
            return known is not None
        self._objects[key] = kept
        (self._ahead.add if is_ahead else self._ahead.discard)(key)
        return known is None or not _alike(known, kept)

    def _drop(self, key: Key) -> None:
        self._objects.pop(key, None)
        self._ahead.discard(key)


def _alike(one: T, other: T) -> bool:
    """Whether two versions differ in nothing but their version."""
    if one is other:
        return True
    metadata = msgspec.structs.replace(
        other.metadata, resource_version=one.metadata.resource_version
    )
    return bool(msgspec.structs.replace(other, metadata=metadata) == one)
