"""Tests of asynchronous code: each runs in an event loop of its own."""

import asyncio
import functools
import time
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

from plimsoll_devcluster.waiting import PATIENCE

P = ParamSpec("P")


def asynchronous(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Make a plain test of an asynchronous one; its fixtures stay as they are."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def until(condition: Callable[[], object], *, seconds: float = 20) -> None:
    """Return as soon as the condition holds; fail when it does not within that time."""
    end = time.monotonic() + seconds * PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        await asyncio.sleep(0.01)
