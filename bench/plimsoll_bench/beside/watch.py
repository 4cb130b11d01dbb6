"""Everything that an API server tells of some collections, with the time at which it came."""

import threading
import time
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from urllib3.exceptions import HTTPError

from plimsoll_bench.beside.book import Event
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError

_AGAIN_SECONDS = 0.1


class EventsLostError(Exception):
    """A watch could not go on where it ended, so what happened meanwhile is not known."""


class Watches:
    """A thread for each collection puts what it is told in a queue, while entered."""

    def __init__(self, api: ApiServer, *collections: str) -> None:
        self._api = api
        self._collections = collections
        self._told: SimpleQueue[tuple[str, Event] | EventsLostError] = SimpleQueue()
        self._over = threading.Event()

    def new(self) -> list[tuple[str, Event]]:
        """What has come since the last call, each with its collection. Raises EventsLostError."""
        found: list[tuple[str, Event]] = []
        while not self._told.empty():
            told = self._told.get()
            if isinstance(told, EventsLostError):
                raise told
            found.append(told)
        return found

    def _watch(self, collection: str, since: str) -> None:
        while not self._over.is_set():
            try:
                for told in self._api.watch(collection, since):
                    if self._over.is_set():
                        return
                    if told["type"] == "ERROR":
                        self._lost(collection, told["object"].get("message"))
                        return
                    since = told["object"]["metadata"]["resourceVersion"]
                    event = Event(time.monotonic(), told["type"], told["object"])
                    self._told.put((collection, event))
            except HTTPError:
                self._over.wait(_AGAIN_SECONDS)
            except ApiServerRefusedError as error:
                self._lost(collection, error)
                return

    def _lost(self, collection: str, why: object) -> None:
        self._told.put(EventsLostError(f"{collection}: {why}"))

    def __enter__(self) -> Self:
        for collection in self._collections:
            since = self._api.get(collection)["metadata"]["resourceVersion"]
            threading.Thread(target=self._watch, args=(collection, since), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
