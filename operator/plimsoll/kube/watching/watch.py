"""The objects of one kind in the API server, kept current in memory.

Following them is in `following`, comparing versions in `store`.
"""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from plimsoll.kube.http.client import KubeClient, Selection
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.kube.watching.following import Follower, WatchTerms
from plimsoll.kube.watching.store import Key, Store

T = TypeVar("T", bound=KubeObject)


class ListWatch(Generic[T]):
    """The objects of one kind, kept current while `run` runs.

    Those of one `namespace`, or of all. `keep` returns what is stored for an object, None for
    nothing. `changed` is called after each list, and after each batch of events in which anything
    but versions changed.
    """

    def __init__(  # noqa: PLR0913 - what to watch, and two ways to shape it by name
        self,
        client: KubeClient,
        resource: Resource,
        type_: type[T],
        *,
        namespace: str = "",
        selection: Selection | None = None,
        keep: Callable[[T], T | None] = lambda item: item,
        changed: Callable[[], None] = lambda: None,
        terms: WatchTerms | None = None,
    ) -> None:
        self._changed = changed
        self._store = Store(keep)
        self._follower = Follower(
            client,
            resource,
            type_,
            self._store,
            namespace=namespace,
            selection=selection,
            changed=changed,
            terms=terms,
        )
        self.name = self._follower.name
        """The plural of the watched resource."""
        self.run = self._follower.run
        self.wait_synced = self._follower.wait_synced
        self.staleness_seconds = self._follower.staleness_seconds
        self.is_from = self._follower.is_from

    @property
    def objects(self) -> Mapping[Key, T]:
        """All objects; a live view, to be copied before awaiting anything."""
        return self._store.objects

    def get(self, name: str, namespace: str = "") -> T | None:
        """The object of that name."""
        return self._store.objects.get(Key(namespace, name))

    @property
    def synced(self) -> bool:
        """Whether everything has been listed once."""
        return self._follower.synced

    def applied(self, item: T) -> None:
        """Take the response to a write of ours, so that the change is seen at once."""
        if self._store.wrote(item):
            self._changed()
