import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from prometheus_client import REGISTRY

from plimsoll.supervision import Part, RestartTerms, Supervisor
from support.programs.asynchronous import asynchronous

TERMS = RestartTerms(
    first_rest_seconds=1, longest_rest_seconds=8, well_after_seconds=60, failing_after=3
)


class Hours:
    """Time that passes only while something rests or works, and what it rested."""

    def __init__(self, enough: int) -> None:
        self.now = 0.0
        self.rests: list[float] = []
        self._enough = enough
        self.over = asyncio.Event()

    async def rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds
        if len(self.rests) == self._enough:
            self.over.set()
            await asyncio.Event().wait()
        await asyncio.sleep(0)


def failing_after(hours: Hours, *lives: float) -> Callable[[], Coroutine[Any, Any, None]]:
    """A part that works for so long each time before it fails; the last span is repeated."""
    left = list(lives)

    async def run() -> None:
        hours.now += left.pop(0) if len(left) > 1 else left[0]
        raise ValueError("5,000 digits")

    return run


async def supervised(hours: Hours, run: Callable[[], Coroutine[Any, Any, None]]) -> Supervisor:
    supervisor = Supervisor(TERMS, clock=lambda: hours.now, rest=hours.rest)
    supervisor.begin(Part("of a test", run))
    async with asyncio.timeout(10):
        await hours.over.wait()
    return supervisor


def restarts() -> float:
    found = REGISTRY.get_sample_value("plimsoll_part_restarts_total", {"part": "of a test"})
    return found or 0.0


def is_failing() -> float | None:
    return REGISTRY.get_sample_value("plimsoll_part_failing", {"part": "of a test"})


@asynchronous
async def test_a_part_that_fails_is_begun_anew_after_rests_that_grow_up_to_an_end() -> None:
    hours, before = Hours(6), restarts()
    supervisor = await supervised(hours, failing_after(hours, 0))
    assert hours.rests == [1, 2, 4, 8, 8, 8]
    assert restarts() == before + 6
    await supervisor.stop()


@asynchronous
async def test_a_part_that_ran_well_for_a_while_is_begun_anew_soon() -> None:
    hours = Hours(4)
    supervisor = await supervised(hours, failing_after(hours, 0, 0, 60, 0))
    assert hours.rests == [1, 2, 1, 2]
    await supervisor.stop()


@asynchronous
async def test_a_part_that_failed_once_or_twice_is_no_problem_and_one_that_keeps_failing_is() -> (
    None
):
    for failures, known in ((2, False), (3, True)):
        hours = Hours(failures)
        supervisor = await supervised(hours, failing_after(hours, 0))
        assert bool(supervisor.problems()) is known
        assert is_failing() == known
        await supervisor.stop()
    assert supervisor.problems() == ["of a test: failed 3 times, ValueError: 5,000 digits"]


@asynchronous
async def test_a_part_that_kept_failing_is_well_again_once_it_has_run_for_a_while() -> None:
    hours, begun, lives = Hours(99), asyncio.Event(), [0, 0, 0]

    async def run() -> None:
        if lives:
            lives.pop()
            raise ValueError("not yet")
        begun.set()
        await asyncio.Event().wait()

    supervisor = Supervisor(TERMS, clock=lambda: hours.now, rest=hours.rest)
    supervisor.begin(Part("of a test", run))
    async with asyncio.timeout(10):
        await begun.wait()
    hours.now += 59
    assert supervisor.problems()
    hours.now += 1
    assert not supervisor.problems()
    assert is_failing() == 0
    await supervisor.stop()


@asynchronous
async def test_a_part_that_comes_to_its_end_or_is_cancelled_from_within_has_failed() -> None:
    async def end() -> None:
        """Do nothing more."""

    async def give_up() -> None:
        raise asyncio.CancelledError

    for run in (end, give_up):
        hours = Hours(2)
        supervisor = await supervised(hours, run)
        assert hours.rests == [1, 2]
        await supervisor.stop()


@asynchronous
async def test_one_part_that_fails_leaves_the_others_alone() -> None:
    hours, beats = Hours(50), 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0)

    supervisor = Supervisor(TERMS, clock=lambda: hours.now, rest=hours.rest)
    supervisor.begin(Part("heart", beat))
    supervisor.begin(Part("of a test", failing_after(hours, 0)))
    async with asyncio.timeout(10):
        await hours.over.wait()
    before = beats
    await asyncio.sleep(0.01)
    assert beats > before
    await supervisor.stop()


@asynchronous
async def test_what_is_stopped_ends_and_is_not_begun_anew() -> None:
    ended: list[str] = []

    async def run() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    supervisor = Supervisor(TERMS)
    supervisor.begin(Part("of a test", run))
    before = restarts()
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await supervisor.stop()
    assert ended == ["ended"]
    assert restarts() == before


@pytest.mark.parametrize(("failures", "seconds"), [(1, 0.5), (7, 30.0), (10**6, 30.0)])
def test_the_rest_is_bounded_however_often_a_part_has_failed(failures: int, seconds: float) -> None:
    assert RestartTerms().rest_seconds(failures) == seconds


@asynchronous
async def test_a_part_that_does_not_end_when_it_is_cancelled_is_cancelled_again() -> None:
    begun, cancelled = asyncio.Event(), 0

    async def deaf() -> None:
        nonlocal cancelled
        while cancelled < 2:
            try:
                begun.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled += 1
        raise asyncio.CancelledError

    supervisor = Supervisor(RestartTerms(end_seconds=0.01))
    supervisor.begin(Part("of a test", deaf))
    await begun.wait()
    async with asyncio.timeout(10):
        await supervisor.stop()
    assert cancelled == 2
