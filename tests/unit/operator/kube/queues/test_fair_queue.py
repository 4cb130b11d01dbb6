import asyncio

import pytest

from plimsoll.kube.queues.fair_queue import FairQueue
from support.programs.asynchronous import asynchronous


async def taken(queue: FairQueue[str], count: int) -> list[str]:
    """What is to be done next, none of it done."""
    return [(await queue.get())[1] for _ in range(count)]


async def is_stuck(queue: FairQueue[str]) -> bool:
    """Whether nothing may be taken now."""
    waiting = asyncio.ensure_future(queue.get())
    for _ in range(3):
        await asyncio.sleep(0)
    return waiting.cancel()


@asynchronous
async def test_namespaces_take_turns() -> None:
    queue: FairQueue[str] = FairQueue(each=10)
    for name in ("a1", "a2", "a3", "b1", "c1", "c2"):
        queue.put(name[0], name)
    assert await taken(queue, 6) == ["a1", "b1", "c1", "a2", "c2", "a3"]


@asynchronous
async def test_what_is_urgent_comes_first_in_its_namespace() -> None:
    queue: FairQueue[str] = FairQueue(each=10)
    for name in ("a1", "b1", "a2"):
        queue.put(name[0], name)
    for name in ("a-urgent", "a-too"):
        queue.put("a", name, rank=-1)
    assert await taken(queue, 5) == ["a-urgent", "b1", "a-too", "a1", "a2"]


@asynchronous
async def test_no_namespace_has_more_under_way_than_it_may() -> None:
    queue: FairQueue[str] = FairQueue(each=2)
    for number in range(1000):
        queue.put("many", f"many{number}")
    assert await taken(queue, 2) == ["many0", "many1"]
    assert await is_stuck(queue)
    queue.put("other", "other0")
    assert await taken(queue, 1) == ["other0"]
    assert await is_stuck(queue)
    queue.done("many")
    assert await taken(queue, 1) == ["many2"]


@pytest.mark.parametrize("event", ["put", "done"])
@asynchronous
async def test_whoever_waits_is_woken(event: str) -> None:
    queue: FairQueue[str] = FairQueue(each=1)
    if event == "done":
        queue.put("a", "first")
        queue.put("a", "second")
        await queue.get()
    waiting = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    if event == "done":
        queue.done("a")
    else:
        queue.put("a", "second")
    done, rest = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [each.result() for each in done] == [("a", "second")]
    for each in rest:
        each.cancel()


@asynchronous
async def test_in_all_no_more_are_under_way_than_there_is_room_for() -> None:
    room = 2
    queue: FairQueue[str] = FairQueue(each=lambda: room, most=lambda: room)
    for number in range(3):
        queue.put("a", f"a{number}")
        queue.put("b", f"b{number}")
    assert await taken(queue, 2) == ["a0", "b0"]
    assert await is_stuck(queue)
    room = 3
    assert await taken(queue, 1) == ["a1"]
    room = 1
    queue.done("a")
    queue.done("b")
    assert await is_stuck(queue)
    queue.done("a")
    assert await taken(queue, 1) == ["b1"]
