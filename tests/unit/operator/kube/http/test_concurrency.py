"""How many writes may be in flight, by what a server does with them."""

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.kube.http.concurrency import (
    FORGOTTEN_SECONDS,
    Bounds,
    ConcurrencyLimit,
    Gate,
)
from support.programs.asynchronous import asynchronous

BOUNDS = Bounds(first=32, least=8, most=256)


class Server:
    """It works on `threads` requests at once, each for `seconds`; the others queue in it."""

    def __init__(self, threads: int, seconds: float, bounds: Bounds = BOUNDS) -> None:
        self.threads, self.seconds, self.now = threads, seconds, 0.0
        self.limit = ConcurrencyLimit(bounds, lambda: self.now)

    def answer(self, requests: int, in_flight: int | None = None) -> int:
        """Answer so many requests, with as many in flight as is allowed; the limit after them."""
        for _ in range(requests):
            many = self.limit() if in_flight is None else in_flight
            took = self.seconds * max(1.0, many / self.threads)
            self.now += took / many
            self.limit.answered(took, many)
        return self.limit()


def test_a_large_server_gets_more_than_a_small_one() -> None:
    small, large = Server(4, 0.01), Server(200, 0.05)
    for server in (small, large):
        server.answer(16, in_flight=1)  # what a request takes that is alone
        server.answer(20_000)
    assert small.limit() < BOUNDS.first
    assert large.limit() == BOUNDS.most


def test_a_server_that_becomes_slower_gets_less_and_then_as_much_again() -> None:
    server = Server(100, 0.02)
    before = server.answer(20_000)
    server.threads = 10
    during = server.answer(5_000)
    server.threads = 100
    assert during < before / 2
    assert server.answer(20_000) > 2 * during


def test_what_is_slow_for_good_is_the_measure_after_a_while() -> None:
    server = Server(100, 0.01)
    server.answer(10_000)
    server.seconds = 0.1  # say, a webhook
    low = server.answer(2_000)
    while server.now < 3 * FORGOTTEN_SECONDS:
        server.answer(2_000)
    assert server.limit() > low


def test_while_few_are_in_flight_the_limit_stays() -> None:
    server = Server(100, 0.01)
    assert server.answer(10_000, in_flight=3) == BOUNDS.first


def test_a_rejection_halves_it_once_for_all_that_were_in_flight() -> None:
    server = Server(100, 0.01)
    server.now = 5.0
    server.limit.rejected(sent_at=4.9)
    server.limit.rejected(sent_at=4.95)
    assert server.limit() == BOUNDS.first // 2
    server.now = 6.0
    server.limit.rejected(sent_at=5.5)
    assert server.limit() == BOUNDS.first // 4


def test_a_stall_of_ours_is_not_taken_for_the_servers() -> None:
    server = Server(100, 0.01)
    server.answer(10_000)
    before = server.limit()
    for number in range(2_000):  # of ten responses, one waited for us
        server.limit.answered(0.5 if number % 10 == 0 else 0.01, server.limit())
    assert server.limit() >= before


@given(st.lists(st.floats(0, 1e9) | st.just(math.inf) | st.just(0.0), max_size=300))
def test_whatever_is_measured_the_limit_keeps_its_bounds(times: list[float]) -> None:
    limit = ConcurrencyLimit(BOUNDS, lambda: 0.0)
    for seconds in times:
        limit.answered(seconds, limit())
        assert BOUNDS.least <= limit() <= BOUNDS.most
    for _ in range(10):
        limit.rejected(0.0)
        assert limit() >= BOUNDS.least


@pytest.mark.parametrize("answers", [1000])
def test_a_fixed_limit_stays(answers: int) -> None:
    server = Server(1, 0.1, Bounds.fixed(7))
    assert server.answer(answers) == 7
    server.limit.rejected(server.now)
    assert server.limit() == 7


class Crowd:
    """Tasks that want through a gate, and leave when they are told to."""

    def __init__(self, gate: Gate) -> None:
        self.gate, self.inside, self.leave = gate, list[int](), asyncio.Event()

    async def come(self, number: int) -> None:
        async with self.gate.passed():
            self.inside.append(number)
            await self.leave.wait()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@asynchronous
async def test_no_more_pass_than_the_limit_says_and_in_their_order() -> None:
    limit = 2
    crowd = Crowd(Gate(lambda: limit))
    tasks = [asyncio.create_task(crowd.come(number)) for number in range(5)]
    await settled()
    assert crowd.inside == [0, 1]
    limit = 3
    tasks[0].cancel()
    await settled()
    assert crowd.inside == [0, 1, 2, 3]
    assert crowd.gate.inside == 3
    crowd.leave.set()
    await asyncio.gather(*tasks[1:])
    assert crowd.inside == [0, 1, 2, 3, 4]
    assert crowd.gate.inside == 0


@asynchronous
async def test_who_gives_up_waiting_takes_no_room() -> None:
    crowd = Crowd(Gate(lambda: 1))
    tasks = [asyncio.create_task(crowd.come(number)) for number in range(3)]
    await settled()
    tasks[1].cancel()
    await settled()
    tasks[0].cancel()
    tasks[2].cancel()  # let in at this very moment
    await settled()
    assert crowd.gate.inside == 0
    last = asyncio.create_task(crowd.come(3))
    await settled()
    assert crowd.inside[-1] == 3
    crowd.leave.set()
    await last
