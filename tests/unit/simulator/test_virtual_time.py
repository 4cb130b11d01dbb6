import asyncio
import itertools
import time
from datetime import UTC, datetime, timedelta

import pytest

from plimsoll_simulator.virtual_time import NothingLeftError, VirtualTimeLoop, clock_of

DAY_SECONDS = 86_400.0
BEGINS = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_day_takes_as_long_as_its_work() -> None:
    happened: list[tuple[float, str]] = []

    async def every(seconds: float, what: str) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < DAY_SECONDS:
            await asyncio.sleep(seconds)
            happened.append((loop.time(), what))

    async def day() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(every(10_000, "a"))
            group.create_task(every(25_000, "b"))

    started = time.process_time()
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(day())
    assert time.process_time() - started < DAY_SECONDS / 1000
    assert [round(at) for at, what in happened if what == "b"] == [25_000, 50_000, 75_000, 100_000]
    assert happened == sorted(happened, key=lambda each: each[0])


def test_the_clock_tells_the_loops_time() -> None:
    loop = VirtualTimeLoop()
    clock = clock_of(loop, BEGINS)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(asyncio.sleep(3600))
    assert clock.now() == BEGINS + timedelta(hours=1)
    assert clock.monotonic() == pytest.approx(3600)


def test_a_timeout_passes_by_itself() -> None:
    async def waiting() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(waiting()) == pytest.approx(60)


def test_what_nobody_will_ever_wake_is_an_error_and_not_a_hang() -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner, pytest.raises(NothingLeftError):
        runner.run(asyncio.Event().wait())


def test_who_wakes_in_between_does_not_change_the_time_of_others() -> None:
    async def wake(seconds: float) -> None:
        for _ in itertools.count():
            await asyncio.sleep(seconds)

    async def moments(*others: float) -> list[float]:
        waking = [asyncio.create_task(wake(each)) for each in others]
        found: list[float] = []
        for _ in range(1000):
            await asyncio.sleep(0.1)
            found.append(asyncio.get_running_loop().time())
        for each in waking:
            each.cancel()
        return found

    def run(*others: float) -> list[float]:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            return runner.run(moments(*others))

    assert run() == run(0.3, 1 / 7)


@pytest.mark.timeout(60)
def test_time_passes_after_years() -> None:
    """There the next moment that a float can tell is more than a nanosecond away."""

    async def late() -> float:
        await asyncio.sleep(1000 * DAY_SECONDS)
        for _ in range(1000):
            await asyncio.sleep(0.1)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(late()) == pytest.approx(1000 * DAY_SECONDS + 100)
