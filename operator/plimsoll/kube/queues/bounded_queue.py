"""A queue with room for so much in all and of each owner, in which owners take turns.

One that puts much in keeps no other waiting; what has no room is refused. Where the owners' work
may hang, `fair_queue` has one that bounds what is under way instead.
"""

import asyncio
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class BoundedQueue(Generic[Item]):
    """Holds at most so many items, and so many of one owner; of each owner first in, first out."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._waiting: dict[str, deque[Item]] = {}
        self._there = asyncio.Semaphore(0)
        self._length = self._unfinished = 0
        self._is_done = asyncio.Event()
        self._is_done.set()

    def put(self, owner: str, item: Item) -> bool:
        """Put an item in; False where there is no room for it."""
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
        """The next item, when there is one."""
        await self._there.acquire()
        owner = next(iter(self._waiting))
        queue = self._waiting.pop(owner)
        item = queue.popleft()
        self._length -= 1
        if queue:
            # Behind all others that wait.
            self._waiting[owner] = queue
        return item

    def done(self) -> None:
        """Say that an item that was got is done with."""
        self._unfinished -= 1
        if not self._unfinished:
            self._is_done.set()

    async def join(self) -> None:
        """Return when all that was put in is done with."""
        await self._is_done.wait()
