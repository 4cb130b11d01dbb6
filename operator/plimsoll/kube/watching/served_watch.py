"""Watch a kind that a cluster may lack: its CustomResourceDefinition may come and go.

Or it may be an alpha kind of Kubernetes' own, which few clusters serve.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, Generic, NoReturn, TypeVar

from plimsoll.errors import ApiError, Forbidden, NotFound
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import Resource, group_version
from plimsoll.kube.objects.discovery import ServedKinds
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.kube.watching.store import Key
from plimsoll.kube.watching.watch import ListWatch
from plimsoll.vocabulary import logs

T = TypeVar("T", bound=KubeObject)

LOOK_SECONDS: Final = 30.0
"""How often it is asked whether the kind is served."""
RETRY_SECONDS: Final = 1.0
"""How soon that is asked again while it is not known yet: the operator waits for it."""
_log = logs.logger(__name__)


class ServedWatch(Generic[T]):
    """The objects of one kind, kept current while `run` runs; none while it is not served.

    `make` makes the watch that keeps them current while it is. `changed` is called when the kind is
    not served any more.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        make: Callable[[], ListWatch[T]],
        *,
        changed: Callable[[], None],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._client, self._resource, self._make = client, resource, make
        self._changed, self._look_seconds = changed, look_seconds
        self._watch: ListWatch[T] | None = None
        self._known, self._gone = asyncio.Event(), asyncio.Event()

    @property
    def name(self) -> str:
        """The plural of the watched resource."""
        return self._resource.plural

    @property
    def objects(self) -> Mapping[Key, T]:
        """All objects; a live view, to be copied before awaiting anything."""
        return self._watch.objects if self._watch is not None else {}

    @property
    def is_served(self) -> bool:
        """Whether the kind is served and all of it has been listed."""
        return self._watch is not None and self._watch.synced

    @property
    def synced(self) -> bool:
        """Whether it is known that there are none, or everything has been listed once."""
        return self._known.is_set() and (self._watch is None or self._watch.synced)

    async def wait_synced(self) -> None:
        """Return when that is so."""
        await self._known.wait()
        while self._watch is not None and not self._watch.synced:
            # The kind may go before it has been listed, and be followed anew when it is back.
            await _first_of(self._watch.wait_synced(), self._gone.wait())

    def staleness_seconds(self, now: float) -> float:
        """The age of the copy at a monotonic moment."""
        return self._watch.staleness_seconds(now) if self._watch is not None else 0.0

    def is_from(self, moment: float) -> bool:
        """Whether everything was listed at that monotonic moment or later; relists if not."""
        return self._watch is None or self._watch.is_from(moment)

    def applied(self, item: T) -> None:
        """Take the response to a write of ours, so that the change is seen at once."""
        if self._watch is not None:
            self._watch.applied(item)

    async def run(self) -> NoReturn:
        """Keep them current until cancelled."""
        following: asyncio.Task[NoReturn] | None = None
        try:
            while True:
                served = await self._is_served()
                if served and following is None:
                    self._watch = self._make()
                    self._gone.clear()
                    following = asyncio.create_task(self._watch.run())
                elif served is False and (following is not None or not self._known.is_set()):
                    await self._end(following)
                    following = None
                if served is not None:
                    self._known.set()
                if not self._known.is_set():
                    await asyncio.sleep(RETRY_SECONDS)
                elif following is None:
                    await asyncio.sleep(self._look_seconds)
                else:
                    ended, _ = await asyncio.wait({following}, timeout=self._look_seconds)
                    for each in ended:
                        each.result()
        finally:
            await _cancelled(following)

    async def _end(self, following: "asyncio.Task[NoReturn] | None") -> None:
        """There are no objects of the kind any more."""
        _log.info(
            "kind not served: such objects are not planned until the API server serves them, for"
            " most kinds by their CustomResourceDefinition",
            kind=f"{self._resource.plural}.{self._resource.group}",
        )
        await _cancelled(following)
        if self._watch is not None:
            self._watch = None
            self._gone.set()
            self._changed()

    async def _is_served(self) -> bool | None:
        """Whether the kind is served; None if that cannot be known now.

        If it may not be known at all, the kind is off, and nothing waits for it.
        """
        resource = self._resource
        try:
            path = group_version(resource.group, resource.version)
            found = await self._client.get(path, ServedKinds)
        except NotFound:
            return False
        except Forbidden:
            return None if self._known.is_set() else False
        except ApiError as error:
            _log.debug("kinds unknown", group=resource.group, error=str(error))
            return None
        return any(each.name == resource.plural for each in found.resources)


async def _first_of(*waits: Coroutine[Any, Any, object]) -> None:
    tasks = [asyncio.create_task(each) for each in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in tasks:
            each.cancel()


async def _cancelled(task: "asyncio.Task[NoReturn] | None") -> None:
    if task is not None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
