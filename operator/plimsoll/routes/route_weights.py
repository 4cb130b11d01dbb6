"""Watch HTTPRoutes whose owners ask for weights, and set the weights of their backends.

This stands beside the loop and reads its latest snapshot. A route that was changed meanwhile is
looked at again with what has changed; one that cannot be written waits, and others do not wait for
it.
"""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NoReturn

from plimsoll.clock import repeat
from plimsoll.errors import Conflict, Invalid, NotFound, PlimsollError
from plimsoll.kube.events import EventRecorder, Saying, Subject
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.queues.fair_queue import FairQueue
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.kube.watching.served_watch import ServedWatch
from plimsoll.kube.watching.watch import ListWatch
from plimsoll.observe.snapshot import Snapshot
from plimsoll.routes.http_route import HTTP_ROUTES, KIND, HTTPRoute, if_asking
from plimsoll.routes.weights import UnusableRouteError, Weight, changed_weights, operations
from plimsoll.supervision import Part, count_unforeseen
from plimsoll.vocabulary import logs
from plimsoll.vocabulary.reasons import Reason

SECONDS: Final = 1.0
"""How often routes are looked at."""
AGAIN_SECONDS: Final = 15.0
"""How long a route that could not be written is left alone."""
AT_ONCE: Final = 4
"""Writers."""
OF_ONE: Final = 2
"""How many of them may work for one namespace, whose routes some webhook may delay."""
_log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    """A route as it was seen, and the weights that it should have instead."""

    route: HTTPRoute
    changes: Sequence[Weight]


class RouteWeights:
    """Sets weights while its parts run and this replica `leads`.

    `latest` is the cluster as seen.
    """

    def __init__(
        self,
        client: KubeClient,
        events: EventRecorder,
        latest: Callable[[], Snapshot | None],
        leads: Callable[[], bool],
        terms: WatchTerms,
    ) -> None:
        def watch() -> ListWatch[HTTPRoute]:
            return ListWatch(client, HTTP_ROUTES, HTTPRoute, keep=if_asking, terms=terms)

        self._client, self._events = client, events
        self._latest, self._leads = latest, leads
        self._routes = ServedWatch(client, HTTP_ROUTES, watch, changed=lambda: None)
        self._queue: FairQueue[_Due] = FairQueue(each=OF_ONE)
        self._under_way: set[str] = set()
        self._again_at: dict[str, float] = {}

    def parts(self) -> list[Part]:
        """The parts that set weights while they run."""
        return [
            Part(f"watch of {self._routes.name}", self._routes.run),
            Part("weights of routes", self._look_often),
            *(Part(f"writer of weights {n}", self._write_queued) for n in range(1, AT_ONCE + 1)),
        ]

    async def _look_often(self) -> NoReturn:
        await repeat(self._look, SECONDS)

    async def _look(self) -> None:
        """Queue what is to be written."""
        snapshot = self._latest()
        if snapshot is None or snapshot.advises or not self._leads():
            return
        now = time.monotonic()
        self._again_at = {uid: at for uid, at in self._again_at.items() if at > now}
        for route in tuple(self._routes.objects.values()):
            uid = route.metadata.uid
            if uid in self._under_way or uid in self._again_at:
                continue
            with self._costing_only(route):
                if changes := changed_weights(route, snapshot):
                    self._under_way.add(uid)
                    self._queue.put(route.metadata.namespace, _Due(route, changes))

    async def _write_queued(self) -> NoReturn:
        while True:
            namespace, due = await self._queue.get()
            try:
                with self._costing_only(due.route):
                    await self._write(due)
            finally:
                self._under_way.discard(due.route.metadata.uid)
                self._queue.done(namespace)

    async def _write(self, due: _Due) -> None:
        meta = due.route.metadata
        path = HTTP_ROUTES.named(meta.name, meta.namespace)
        patch = operations(due.route, due.changes)
        try:
            self._routes.applied(await self._client.json_patch(path, patch, HTTPRoute))
        except (Conflict, Invalid, NotFound) as error:
            # It has changed: the watch brings how.
            _log.debug("route has changed", route=meta.name, error=str(error))
            return
        weights = {each.backend: each.weight for each in due.changes}
        _log.info("weights set", route=f"{meta.namespace}/{meta.name}", weights=weights)

    @contextmanager
    def _costing_only(self, route: HTTPRoute) -> Generator[None]:
        """Whatever goes wrong with a route costs it alone."""
        try:
            yield
        except UnusableRouteError as error:
            self._cannot(route, str(error))
        except PlimsollError as error:
            self._cannot(route, f"its weights cannot be written: {error}")
        except Exception as error:  # noqa: BLE001 - around one route: the others are written
            count_unforeseen("route", error, route=route.metadata.name)
            self._rest(route)

    def _cannot(self, route: HTTPRoute, message: str) -> None:
        meta = route.metadata
        api_version = f"{HTTP_ROUTES.group}/{HTTP_ROUTES.version}"
        subject = Subject(api_version, KIND, meta.name, meta.uid, meta.namespace)
        self._events.record(Saying(subject, Reason.ROUTE_NOT_WEIGHTED, message, warning=True))
        self._rest(route)

    def _rest(self, route: HTTPRoute) -> None:
        self._again_at[route.metadata.uid] = time.monotonic() + AGAIN_SECONDS
