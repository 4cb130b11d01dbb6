"""How the custom resources are listed beside kopf's watches, for what those leave out.

Of what is deleted while a watch of kopf's is broken, or before it has begun, nobody tells us: it
shows only in a list.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from typing import Any, NoReturn

from plimsoll import telemetry
from plimsoll.api.definition import GROUP, VERSION, Definition
from plimsoll.api.kinds import KINDS
from plimsoll.errors import ApiError
from plimsoll.kube.client import KubeClient
from plimsoll.kube.resources import Resource
from plimsoll.observe.custom_resources import CustomResources

UNCERTAIN_SECONDS = 60.0
"""For how long after a watch broke, or the start, others may still be broken or not have begun."""
RECOVERY_SECONDS = 5.0
"""How often the custom resources are listed meanwhile."""
_log = telemetry.logger(__name__)


class Relisting:
    """Lists everything every `seconds` while `run` runs, and more often after a watch broke.

    `listed` is called each time that it is done.
    """

    def __init__(
        self,
        client: KubeClient,
        resources: CustomResources,
        listed: Callable[[], None],
        *,
        seconds: float,
    ) -> None:
        self.done_once = asyncio.Event()
        """Set when all custom resources have been listed."""
        self._client, self._resources, self._seconds = client, resources, seconds
        self._listed = listed
        self._begun_at = self._listed_at = -math.inf
        self._again = asyncio.Event()
        self._uncertain_until = -math.inf

    def missed(self) -> None:
        """List again: a deletion was not told of."""
        self._again.set()

    def lost(self) -> None:
        """List again, and for a while often: the API server was lost, so perhaps kopf's watches."""
        self._uncertain_until = time.monotonic() + UNCERTAIN_SECONDS
        self._again.set()

    def is_from(self, moment: float) -> bool:
        """Whether all was listed at that monotonic moment or later; else it is, now."""
        if self._begun_at < moment:
            self._again.set()
        return self._listed_at >= moment

    async def run(self) -> NoReturn:
        """List until cancelled."""
        self._uncertain_until = time.monotonic() + UNCERTAIN_SECONDS
        while True:
            self._again.clear()
            self._begun_at = begun = time.monotonic()
            try:
                for kind in KINDS:
                    await self._list(kind.definition)
                self._listed_at = begun
                self.done_once.set()
                self._listed()
            except ApiError as error:
                _log.warning("custom resources not listed", error=str(error))
                await asyncio.sleep(1.0)
                continue
            uncertain = time.monotonic() < self._uncertain_until
            seconds = RECOVERY_SECONDS if uncertain else self._seconds
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._again.wait(), seconds)

    async def _list(self, kind: Definition) -> None:
        uids: list[str] = []
        version = 0
        everywhere = Resource(GROUP, VERSION, kind.plural).everywhere()
        async for page in self._client.pages(everywhere, dict[str, Any]):
            version = int(page.metadata.resource_version)
            for raw in page.items or ():
                self._resources.told({**raw, "kind": kind.kind})
                uids.append(raw["metadata"]["uid"])
        self._resources.listed(kind.kind, uids, version)
