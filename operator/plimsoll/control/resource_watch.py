"""How the custom resources are followed: one watch for each kind, told as it comes.

They are read as plain JSON, whatever their users have written, and what of it is wrong is found
out and told object by object (`observe.custom_resources`).
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
"""Objects of a list at a time: each may be a hundred times as large as a pod."""


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
                _Told(kind.definition, resources),
                changed=listed,
                terms=terms,
            )
            for kind in KINDS
        }
        self._followers = list(self._by_kind.values())

    def parts(self) -> list[Part]:
        """What keeps them current while it runs."""
        return [Part(f"watch of {each.name}", each.run) for each in self._followers]

    async def wait_synced(self) -> None:
        """Return when all have been listed once."""
        await asyncio.gather(*(each.wait_synced() for each in self._followers))

    def missed(self, kind: str) -> None:
        """List a kind again unless its watch says anything soon: a deletion was not told of."""
        self._by_kind[kind].doubt()

    def is_from(self, moment: float) -> bool:
        """Whether all was listed at that monotonic moment or later; what was not, is now."""
        late = [each for each in self._followers if not each.is_from(moment)]
        return not late

    def staleness(self, *, limit_seconds: float) -> list[str]:
        """What is not listed yet, or was not known to be current for longer than the limit."""
        return stale_watches(self._followers, now=time.monotonic(), limit_seconds=limit_seconds)


class _Told:
    """Passes on what is told of one kind, and remembers which objects there are."""

    def __init__(self, kind: Definition, resources: CustomResources) -> None:
        self._kind, self._resources = kind.kind, resources
        self._there: set[str] = set()
        self.unread: set[str] = set()
        self.position = 0

    def __len__(self) -> int:
        return len(self._there)

    def keep(self, item: Raw) -> str | None:
        """Pass an object on; its uid."""
        uid = _text(item, "uid")
        try:
            self._resources.told({**item, "apiVersion": API_VERSION, "kind": self._kind})
        except Exception as error:  # noqa: BLE001 - around one object: the others are told of
            count_unforeseen("custom resource", error, kind=self._kind, uid=uid)
        return uid or None

    def listed(self, items: Iterable[str], version: int, unread: Iterable[ObjectMeta]) -> None:
        """Have all forgotten that are not there; what cannot be read counts as known before."""
        self._there, self.unread = set(items), {meta.uid for meta in unread}
        self._resources.listed(self._kind, self._there | self.unread, version)
        self.position = version

    def told(self, item: Raw) -> bool:
        """Pass an object on that is new or changed. Whoever it is passed to tells of changes."""
        self.moved_to(int(_text(item, "resourceVersion")))
        uid = self.keep(item)
        if uid is not None:
            self._there.add(uid)
            self.unread.discard(uid)
        return False

    def told_unread(self, meta: ObjectMeta) -> None:
        """Note that an object cannot be read any more."""
        self.moved_to(int(meta.resource_version))
        self.unread.add(meta.uid)

    def told_gone(self, meta: ObjectMeta) -> bool:
        """Have an object forgotten."""
        self.moved_to(int(meta.resource_version))
        self._there.discard(meta.uid)
        self.unread.discard(meta.uid)
        self._resources.gone({"kind": self._kind, "metadata": {"uid": meta.uid}})
        return False

    def moved_to(self, version: int) -> None:
        """Note how far the watch is; raises Gone when it went back: another history has begun."""
        if version < self.position:
            raise Gone(f"the watch went back from version {self.position} to {version}")
        self.position = version


def _text(item: Raw, field: str) -> str:
    meta: Raw = item.get("metadata", {})
    return str(meta.get(field, ""))
