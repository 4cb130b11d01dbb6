"""The twin's garbage collectors: what belongs to something that is gone goes as well."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator

from plimsoll_simulator.cluster.api_server import ApiServer, Change, Key
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import key_of

COLLECT_SECONDS = 0.5


class GarbageCollector:
    """Deletes what a deleted object owned, and forgets the pods of a node that is gone."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._owned: dict[str, dict[Key, None]] = defaultdict(dict)
        """What each object owns, by the owner's uid, in the order of creation."""
        api.listen(self._heard)

    def _heard(self, change: Change) -> None:
        key, before, after = change.key, change.before, change.after
        if before is None and after is not None:
            for owner in _owners(after):
                self._owned[owner][key] = None
        if before is None or after is not None:
            return
        for owner in _owners(before):
            self._owned[owner].pop(key, None)
        loop, uid = asyncio.get_running_loop(), before["metadata"]["uid"]
        if uid in self._owned:
            loop.call_later(COLLECT_SECONDS, self._collect_owned, uid)
        if key.plural == "nodes":
            loop.call_later(COLLECT_SECONDS, self._collect_pods, key)

    def _collect_owned(self, uid: str) -> None:
        for key in [*self._owned.pop(uid, {})]:
            if self._api.find(key) is not None:
                self._api.delete(key)

    def _collect_pods(self, node: Key) -> None:
        if self._api.find(node) is not None:
            return
        for pod in [*self._api.all("pods")]:
            if pod["spec"].get("nodeName") == node.name:
                self._api.remove(key_of("pods", pod))


def _owners(found: Raw) -> Iterator[str]:
    for each in found["metadata"].get("ownerReferences", ()):
        yield each["uid"]
