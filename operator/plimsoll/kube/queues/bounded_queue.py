"""A queue, bounded in total and per owner, in which owners take turns.

A busy owner keeps no other waiting; items without room are refused. If the owners' work may hang,
use `fair_queue`, which bounds the work in progress instead.
"""

import asyncio
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class BoundedQueue(Generic[Item]):
    """Holds at most so many items, and so many of one owner; first in, first out per owner."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._waiting: dict[str, deque[Item]] = {}
        self._there = asyncio.Semaphore(0)
        self._length = self._unfinished = 0
        self._is_done = asyncio.Event()
        self._is_done.set()

    def put(self, owner: str, item: Item) -> bool:
        """Put an item in; False if there is no room for it."""
        queue = self._waiting.get(owner, deque[Item]())
        if self._length >= self._most or len(queue) >= self._most_of_one:
            return False
        queue.append(item)
        self._waiting[owner] = queue
        self._length += 1
        self._unfinished += 1
        self._is_done.clear()
        self._there.release()
        return True

    async def get(self) -> Item:
        """The next item, once there is one."""
        await self._there.acquire()
        owner = next(iter(self._waiting))
        queue = self._waiting.pop(owner)
        item = queue.popleft()
        self._length -= 1
        if queue:
            # Behind all other waiting owners.
            self._waiting[owner] = queue
        return item

    def done(self) -> None:
        """Mark an item taken from the queue as done."""
        self._unfinished -= 1
        if not self._unfinished:
            self._is_done.set()

    async def join(self) -> None:
        """Return when everything put in is done."""
        await self._is_done.wait()
