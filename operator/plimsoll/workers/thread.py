"""Run work that strangers can keep busy in an event loop and a thread of its own.

However many requests reach the endpoint, the loop that renews the Lease and makes plans runs
alongside. What the endpoint reads of the operator is swapped in as a whole and never modified
(pods, jobs, rates), or has a lock (`Registry`); what it passes back goes through
`call_soon_threadsafe`. Moving the Lease to a thread instead would protect it just as well, but not
planning.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any

Running = tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]


async def in_own_thread(work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
    """Run the work in its own event loop; raise what it raises, and cancel it if cancelled."""
    here = asyncio.get_running_loop()
    ended: asyncio.Future[None] = here.create_future()
    begun: Future[Running] = Future()
    parts = (work, begun, partial(_settle, here, ended))
    thread = threading.Thread(target=_live, args=parts, name=name, daemon=True)
    thread.start()
    try:
        await asyncio.shield(ended)
    except asyncio.CancelledError:
        begun.add_done_callback(_cancel)
        await asyncio.wait({ended})
        raise


def _cancel(begun: Future[Running]) -> None:
    loop, task = begun.result()
    with contextlib.suppress(RuntimeError):  # the work is over, and its loop is closed
        loop.call_soon_threadsafe(task.cancel)


def _live(
    work: Callable[[], Coroutine[Any, Any, None]],
    begun: Future[Running],
    settle: Callable[[BaseException | None], None],
) -> None:
    async def whole() -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one
        begun.set_result((asyncio.get_running_loop(), task))
        await work()

    try:
        asyncio.run(whole())
    except BaseException as error:  # noqa: BLE001 - it is raised in the other thread
        settle(error)
    else:
        settle(None)


def _settle(
    loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None], error: BaseException | None
) -> None:
    def finish() -> None:
        if error is None or isinstance(error, asyncio.CancelledError):
            ended.set_result(None)
        else:
            ended.set_exception(error)

    loop.call_soon_threadsafe(finish)
