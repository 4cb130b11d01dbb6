"""Follow the custom resources: one watch per kind.

They are read as plain JSON, whatever their users wrote; what is wrong with one is found and
reported per object (`observe.custom_resources`).
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from plimsoll.api.definition import API_VERSION, GROUP, VERSION, Definition
from plimsoll.api.kinds import KINDS
from plimsoll.errors import Gone
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import ObjectMeta
from plimsoll.kube.probe_server import stale_watches
from plimsoll.kube.watching.following import Follower, WatchTerms
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.supervision import Part, count_unforeseen

Raw = dict[str, Any]
PAGE_SIZE = 100
"""Objects per page of a list: each may be a hundred times the size of a pod."""


class ResourceWatch:
    """All kinds of custom resources; `listed` is called after each list of one of them."""

    def __init__(
        self,
        client: KubeClient,
        resources: CustomResources,
        listed: Callable[[], None],
        terms: WatchTerms,
    ) -> None:
        terms = replace(terms, page_size=PAGE_SIZE)
        self._by_kind = {
            kind.definition.kind: Follower(
                client,
                Resource(GROUP, VERSION, kind.definition.plural),
                dict[str, Any],
                _KindSink(kind.definition, resources),
                changed=listed,
                terms=terms,
            )
            for kind in KINDS
        }
        self._followers = list(self._by_kind.values())

    def parts(self) -> list[Part]:
        """The parts that keep them current while they run."""
        return [Part(f"watch of {each.name}", each.run) for each in self._followers]

    async def wait_synced(self) -> None:
        """Return when all kinds have been listed once."""
        await asyncio.gather(*(each.wait_synced() for each in self._followers))

    def missed(self, kind: str) -> None:
        """List a kind again unless its watch reports soon: a deletion event was missed."""
        self._by_kind[kind].doubt()

    def is_from(self, moment: float) -> bool:
        """Whether everything was listed at that monotonic moment or later; relists what was not."""
        late = [each for each in self._followers if not each.is_from(moment)]
        return not late

    def staleness(self, *, limit_seconds: float) -> list[str]:
        """What is not listed yet, or has not been confirmed current for longer than the limit."""
        return stale_watches(self._followers, now=time.monotonic(), limit_seconds=limit_seconds)


class _KindSink:
    """Passes on the events of one kind, and remembers which objects exist."""

    def __init__(self, kind: Definition, resources: CustomResources) -> None:
        self._kind, self._resources = kind.kind, resources
        self._there: set[str] = set()
        self.unread: set[str] = set()
        self.position = 0

    def __len__(self) -> int:
        return len(self._there)

    def keep(self, item: Raw) -> str | None:
        """Pass an object on; return its uid."""
        uid = _text(item, "uid")
        try:
            self._resources.received({**item, "apiVersion": API_VERSION, "kind": self._kind})
        except Exception as error:  # noqa: BLE001 - around one object: the others are passed on
            count_unforeseen("custom resource", error, kind=self._kind, uid=uid)
        return uid or None

    def listed(self, items: Iterable[str], version: int, unread: Iterable[ObjectMeta]) -> None:
        """Drop all objects missing from a list; unreadable ones count as still present."""
        self._there, self.unread = set(items), {meta.uid for meta in unread}
        self._resources.listed(self._kind, self._there | self.unread, version)
        self.position = version

    def received(self, item: Raw) -> bool:
        """Pass on an object that is new or changed; the receiver detects changes."""
        self.moved_to(int(_text(item, "resourceVersion")))
        uid = self.keep(item)
        if uid is not None:
            self._there.add(uid)
            self.unread.discard(uid)
        return False

    def received_unreadable(self, meta: ObjectMeta) -> None:
        """Note that an object has become unreadable."""
        self.moved_to(int(meta.resource_version))
        self.unread.add(meta.uid)

    def deleted(self, meta: ObjectMeta) -> bool:
        """Drop an object."""
        self.moved_to(int(meta.resource_version))
        self._there.discard(meta.uid)
        self.unread.discard(meta.uid)
        self._resources.gone({"kind": self._kind, "metadata": {"uid": meta.uid}})
        return False

    def moved_to(self, version: int) -> None:
        """Note the watch's position; raises Gone if it went backwards, since history began anew."""
        if version < self.position:
            raise Gone(f"the watch went back from version {self.position} to {version}")
        self.position = version


def _text(item: Raw, field: str) -> str:
    meta: Raw = item.get("metadata", {})
    return str(meta.get(field, ""))
