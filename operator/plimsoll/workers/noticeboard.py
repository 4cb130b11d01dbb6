"""Let workers wait for a notice of their job, and wake them when it changes.

Thousands wait at once, and notices are rare. So that no worker wakes for other jobs' notices, the
jobs being waited for are polled a few times a second, at one lookup each.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

LOOK_SECONDS = 0.25


@dataclass(slots=True)
class _Post:
    """The workers waiting for a change of one job's notice."""

    seen: str | None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0


class Noticeboard:
    """`notice_of` returns a job's notice by its uid: "" for none, None if it is unknown."""

    def __init__(self, notice_of: Callable[[str], str | None]) -> None:
        self._notice_of = notice_of
        self._posts: dict[str, _Post] = {}

    async def differs(self, job_uid: str, known: str) -> None:
        """Return as soon as the job's notice differs from `known`, or is unknown."""
        while (now := self._notice_of(job_uid)) == known:
            post = self._posts.setdefault(job_uid, _Post(now))
            post.waiting += 1
            try:
                await post.changed.wait()
            finally:
                post.waiting -= 1

    async def run(self) -> NoReturn:
        """Poll the jobs being waited for, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for uid, post in list(self._posts.items()):
                if self._notice_of(uid) != post.seen:
                    post.changed.set()
                if post.changed.is_set() or not post.waiting:
                    del self._posts[uid]
