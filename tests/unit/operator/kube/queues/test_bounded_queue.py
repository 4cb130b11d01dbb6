import asyncio

from plimsoll.kube.queues.bounded_queue import BoundedQueue
from support.programs.asynchronous import asynchronous


def filled(**items: int) -> BoundedQueue[str]:
    queue = BoundedQueue[str](100, 50)
    for owner, count in items.items():
        for number in range(count):
            queue.put(owner, f"{owner}{number}")
    return queue


@asynchronous
async def test_owners_take_turns_and_each_has_its_own_order() -> None:
    queue = filled(greedy=5, a=1, b=2)
    got = [await queue.get() for _ in range(8)]
    assert got == ["greedy0", "a0", "b0", "greedy1", "b1", "greedy2", "greedy3", "greedy4"]


@asynchronous
async def test_there_is_room_for_so_many_of_one_and_so_many_in_all() -> None:
    queue = filled(greedy=50)
    assert not queue.put("greedy", "more")
    assert queue.put("modest", "one")
    assert await queue.get() == "greedy0"
    assert queue.put("greedy", "more")
    assert all(queue.put(f"owner-{number}", "x") for number in range(49))
    assert not queue.put("late", "x")


@asynchronous
async def test_who_waits_for_an_item_gets_the_next_that_comes() -> None:
    queue = BoundedQueue[str](2, 2)
    waits = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.put("a", "late")
    assert await waits == "late"


@asynchronous
async def test_all_is_done_when_the_last_item_that_was_got_is() -> None:
    queue = filled(a=1, b=1)
    joined = asyncio.create_task(queue.join())
    for _ in range(2):
        await queue.get()
    queue.done()
    await asyncio.sleep(0)
    assert not joined.done()
    queue.done()
    await joined
