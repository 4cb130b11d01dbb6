import asyncio
import threading
import time

import pytest

from plimsoll.supervision import Part, RestartTerms, Supervisor
from plimsoll.workers.thread import in_own_thread
from support.programs.asynchronous import asynchronous, until


@asynchronous
async def test_the_work_is_done_in_another_thread_and_its_end_is_known() -> None:
    threads: list[str] = []

    async def work() -> None:
        threads.append(threading.current_thread().name)

    await in_own_thread(work, "strangers")
    assert threads == ["strangers"]


@asynchronous
async def test_what_it_raises_is_raised_here() -> None:
    async def work() -> None:
        raise ValueError("in a thread")

    with pytest.raises(ValueError, match="in a thread"):
        await in_own_thread(work, "strangers")


@asynchronous
async def test_a_loop_that_is_held_up_there_turns_on_here() -> None:
    async def work() -> None:
        time.sleep(0.5)  # noqa: ASYNC251 - it holds its own loop up

    longest, last = 0.0, time.monotonic()
    working = asyncio.create_task(in_own_thread(work, "strangers"))
    while not working.done():
        await asyncio.sleep(0.01)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    assert longest < 0.45
    await working


@asynchronous
async def test_who_is_cancelled_ends_the_work_in_good_order_first() -> None:
    begun, ended = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    working = asyncio.create_task(in_own_thread(work, "strangers"))
    await until(begun.is_set)
    working.cancel()
    await asyncio.wait({working})
    assert working.cancelled()
    assert ended.is_set()


@asynchronous
async def test_a_thread_that_fails_is_begun_anew() -> None:
    threads: set[int] = set()

    async def work() -> None:
        threads.add(threading.get_ident() if len(threads) < 1 else -len(threads))
        raise ValueError("in a thread")

    supervisor = Supervisor(RestartTerms(first_rest_seconds=0.01))
    supervisor.begin(Part("strangers", lambda: in_own_thread(work, "strangers")))
    await until(lambda: len(threads) >= 3)
    await supervisor.stop()
