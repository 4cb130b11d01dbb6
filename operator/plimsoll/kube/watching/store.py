"""What is known of the objects of one kind, and which of two versions is the newer.

News comes from three sides: lists, watch events, and the answers to our own writes, which are
mostly ahead of the watch. Resource versions of one kind are compared as the integers that they
are (Kubernetes promises that since 1.35, and etcd always did). An object that cannot be read counts
as it was known last. Pure, but for being a container.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

import msgspec

from plimsoll.errors import Gone
from plimsoll.kube.objects.objects import KubeObject, ObjectMeta

T = TypeVar("T", bound=KubeObject)


class Key(NamedTuple):
    """What an object is found by; cluster-wide objects have the namespace ""."""

    namespace: str
    name: str


def key_of(item: KubeObject) -> Key:
    """The key of an object."""
    return Key(item.metadata.namespace, item.metadata.name)


def version_of(item: KubeObject) -> int:
    """The version of an object."""
    return int(item.metadata.resource_version)


class Store(Generic[T]):
    """The objects of one kind. Methods that take one return whether anything of meaning changed.

    `keep` gives what is stored for an object; None stands for nothing. `position` is the version
    up to which the watch has told everything.
    """

    def __init__(self, keep: Callable[[T], T | None]) -> None:
        self.keep = keep
        self._objects: dict[Key, T] = {}
        self._ahead: set[Key] = set()
        self._unread: set[Key] = set()
        self.position = 0

    def __len__(self) -> int:
        """How many objects there are."""
        return len(self._objects)

    @property
    def unread(self) -> Collection[Key]:
        """Those whose present version cannot be read."""
        return self._unread

    @property
    def objects(self) -> Mapping[Key, T]:
        """A live view: copy it before awaiting anything."""
        return MappingProxyType(self._objects)

    def listed(self, items: Iterable[T], version: int, unread: Iterable[ObjectMeta] = ()) -> None:
        """Take a complete list. Only what we wrote after it was made survives beside it.

        What has not changed stays the same object, so that nothing about it is worked out anew.
        """
        before = self._objects
        self._unread = {Key(meta.namespace, meta.name) for meta in unread}
        now = {key_of(item): self._known(item) for item in items if version_of(item) <= version}
        self._ahead = {key for key in self._ahead if version_of(before[key]) > version}
        now.update((key, before[key]) for key in self._ahead)
        now.update((key, before[key]) for key in self._unread if key in before)
        self._objects, self.position = now, version

    def _known(self, item: T) -> T:
        """The object that is known already, if it is in this version."""
        known = self._objects.get(key_of(item))
        return known if known is not None and version_of(known) == version_of(item) else item

    def told(self, item: T) -> bool:
        """Take an object that the watch calls new or changed."""
        self.moved_to(version_of(item))
        return self._put(item, is_ahead=False)

    def told_unread(self, meta: ObjectMeta) -> None:
        """Note that the watch calls an object new or changed that cannot be read."""
        self.moved_to(int(meta.resource_version))
        self._unread.add(Key(meta.namespace, meta.name))

    def told_gone(self, meta: ObjectMeta) -> bool:
        """Take an object that the watch calls deleted, or no longer selected."""
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
        """Note how far the watch is; raises Gone when it went back: another history has begun."""
        if version < self.position:
            raise Gone(f"the watch went back from version {self.position} to {version}")
        self.position = version

    def wrote(self, item: T) -> bool:
        """Take the answer to a write of ours, unless the watch has told of something newer."""
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
