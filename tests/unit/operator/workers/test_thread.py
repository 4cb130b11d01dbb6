import asyncio
import threading

import pytest

from plimsoll.supervision import Part, RestartTerms, Supervisor
from plimsoll.workers.thread import in_own_thread
from support.programs.asynchronous import asynchronous, until


def thread_named(name: str) -> threading.Thread:
    return next(thread for thread in threading.enumerate() if thread.name == name)


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
    held_up, turned = threading.Event(), threading.Event()

    async def work() -> None:
        held_up.set()
        assert turned.wait(60)  # it holds its own loop up

    working = asyncio.create_task(in_own_thread(work, "strangers"))
    await until(held_up.is_set)
    turned.set()
    await working


@asynchronous
async def test_work_that_is_cancelled_before_it_begins_ends_as_well() -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    working = asyncio.create_task(in_own_thread(work, "early"))
    await asyncio.sleep(0)
    thread = thread_named("early")
    working.cancel()
    await asyncio.wait({working})
    thread.join(20)
    assert working.cancelled()
    assert not thread.is_alive()


@asynchronous
async def test_work_that_is_cancelled_as_it_ends_is_cancelled_all_the_same() -> None:
    begun, may_end = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        assert may_end.wait(60)

    working = asyncio.create_task(in_own_thread(work, "late"))
    await until(begun.is_set)
    may_end.set()
    thread_named("late").join(20)  # its loop is closed, which this one does not know yet
    working.cancel()
    await asyncio.wait({working})
    assert working.cancelled()


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
