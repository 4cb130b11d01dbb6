"""Viewers: each follows the console's changes, and asks for what has changed, as the page does."""

import asyncio
import json
import threading
from types import TracebackType
from typing import Final, Self

import aiohttp

VIEWS: Final = ("cluster", "map")
SECONDS: Final = 30.0


class Viewers:
    """So many viewers in a thread of their own, from entry to exit; `fetched` counts views."""

    def __init__(self, url: str, token: str, many: int) -> None:
        self._url, self._token, self._many = f"{url}/api/v1/", token, many
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._begun = threading.Event()
        self._end: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._following = 0
        self.fetched = 0
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._begun.wait(SECONDS):
            raise TimeoutError(f"{self._following} of {self._many} viewers follow")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._loop is not None and self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(SECONDS)

    def _run(self) -> None:
        asyncio.run(self._watch())

    async def _watch(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        headers = {"Authorization": f"Bearer {self._token}"}
        timeout = aiohttp.ClientTimeout(total=None, sock_read=SECONDS)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(
            self._url, headers=headers, timeout=timeout, connector=connector
        ) as session:
            tasks = [asyncio.create_task(self._follow(session)) for _ in range(self._many)]
            await self._end.wait()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, session: aiohttp.ClientSession) -> None:
        try:
            params = [("view", view) for view in VIEWS]
            async with session.get("events", params=params) as stream:
                stream.raise_for_status()
                self._following += 1
                if self._following == self._many:
                    self._begun.set()
                async for line in stream.content:
                    if line.startswith(b"data: "):
                        await self._fetch(session, json.loads(line.removeprefix(b"data: ")))
            self.failures.append("a stream has ended")
        except (aiohttp.ClientError, TimeoutError) as error:
            self.failures.append(f"{type(error).__name__}: {error}")

    async def _fetch(self, session: aiohttp.ClientSession, changed: dict[str, str]) -> None:
        async with session.get(changed["view"]) as response:
            response.raise_for_status()
            await response.read()
            self.fetched += 1
