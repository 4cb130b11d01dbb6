"""Share out work for many namespaces: they take turns."""

import asyncio
import heapq
import itertools
from collections import Counter
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Work items per namespace, of which at most `each` of one namespace are in progress.

    However many items a namespace has, and however long they take, those of others do not wait for
    them as long as a worker is free.
    """

    def __init__(self, *, each: int) -> None:
        self._each = each
        self._lines: dict[str, list[tuple[int, int, T]]] = {}
        self._numbers = itertools.count()
        self._under_way: Counter[str] = Counter()
        self._news = asyncio.Event()

    def put(self, namespace: str, item: T, *, rank: int = 0) -> None:
        """Add an item after the namespace's other items of this rank or a lower one."""
        line = self._lines.setdefault(namespace, [])
        heapq.heappush(line, (rank, next(self._numbers), item))
        self._news.set()

    async def get(self) -> tuple[str, T]:
        """Wait for the next item and its namespace; `done` must be called after it."""
        while (found := self._next()) is None:
            self._news.clear()
            await self._news.wait()
        return found

    def done(self, namespace: str) -> None:
        """Mark an item taken from the queue as done."""
        self._under_way[namespace] -= 1
        if not self._under_way[namespace]:
            del self._under_way[namespace]
        self._news.set()

    def _next(self) -> tuple[str, T] | None:
        free = (name for name in self._lines if self._under_way[name] < self._each)
        namespace = next(free, None)
        if namespace is None:
            return None
        line = self._lines.pop(namespace)
        *_, item = heapq.heappop(line)
        if line:  # behind all others
            self._lines[namespace] = line
        self._under_way[namespace] += 1
        return namespace, item
