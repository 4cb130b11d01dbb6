"""Share out work for many namespaces: they take turns."""

import asyncio
import heapq
import itertools
import sys
from collections import Counter
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


def _any() -> int:
    return sys.maxsize


class FairQueue(Generic[T]):
    """Work items per namespace, of which at most `each` of one namespace are in progress.

    However many items a namespace has, and however long they take, those of others do not wait for
    them as long as a worker is free. In all, at most `most` are in progress. Both may change.
    """

    def __init__(self, *, each: int | Callable[[], int], most: Callable[[], int] = _any) -> None:
        self._each = each if callable(each) else lambda: each
        self._most, self._taken = most, 0
        self._lines: dict[str, list[tuple[int, int, T]]] = {}
        self._numbers = itertools.count()
        self._under_way: Counter[str] = Counter()
        self._news = asyncio.Event()

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do, and nothing is being done."""
        return not self._lines and not self._taken

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
        self._taken -= 1
        self._under_way[namespace] -= 1
        if not self._under_way[namespace]:
            del self._under_way[namespace]
        self._news.set()

    def _next(self) -> tuple[str, T] | None:
        if self._taken >= self._most():
            return None
        each = self._each()
        free = (name for name in self._lines if self._under_way[name] < each)
        namespace = next(free, None)
        if namespace is None:
            return None
        line = self._lines.pop(namespace)
        *_, item = heapq.heappop(line)
        if line:  # behind all others
            self._lines[namespace] = line
        self._taken += 1
        self._under_way[namespace] += 1
        return namespace, item
