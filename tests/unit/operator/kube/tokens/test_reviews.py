import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from plimsoll.errors import TooManyRequests
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.tokens.claims import PodIdentity
from plimsoll.kube.tokens.reviews import (
    PODS,
    ReviewTerms,
    TokenReviews,
    TokenReviewStatus,
    UserInfo,
    bound_pod,
)
from support.programs.asynchronous import asynchronous, until
from support.servers.answering_server import answering
from support.servers.worker_endpoint import a_token

POD = "authentication.kubernetes.io/pod-name"
UID = "authentication.kubernetes.io/pod-uid"
BOUND = {POD: ("train-worker-0",), UID: ("uid",)}
ACCOUNT = "system:serviceaccount:team:default"


def status(
    *,
    authenticated: bool = True,
    audiences: tuple[str, ...] = ("plimsoll.dev",),
    username: str = ACCOUNT,
    extra: dict[str, tuple[str, ...]] = BOUND,
) -> TokenReviewStatus:
    return TokenReviewStatus(authenticated, audiences, UserInfo(username, extra))


def test_a_token_made_for_us_and_bound_to_a_pod_speaks_for_that_pod() -> None:
    assert bound_pod(status()) == PodIdentity("team", "train-worker-0", "uid")


@pytest.mark.parametrize(
    "refused",
    [
        status(authenticated=False),
        status(audiences=("https://kubernetes.default.svc",)),
        status(audiences=()),
        status(extra={}),
        status(extra={POD: ("train-worker-0",)}),
        status(username="system:node:node-0"),
    ],
    ids=[
        "not valid",
        "for another",
        "of a server without audiences",
        "not bound",
        "bound by name only",
        "of no service account",
    ],
)
def test_every_other_token_speaks_for_nobody(refused: TokenReviewStatus) -> None:
    assert bound_pod(refused) is None


class ApiServerOfTokens:
    """Counts what it is asked, and finds good what ends in `good`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.held = asyncio.Event()
        self.held.set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        token = (await request.json())["spec"]["token"]
        self.asked.append(token)
        await self.held.wait()
        user = {
            "username": ACCOUNT,
            "extra": {POD: ["train-worker-0"], UID: ["uid"]},
        }
        good = {"authenticated": True, "audiences": ["plimsoll.dev"], "user": user}
        return web.json_response({"status": good if token.endswith("good") else {}})


@asynccontextmanager
async def reviewing(
    terms: ReviewTerms, clock: Callable[[], float] = lambda: 0.0
) -> AsyncGenerator[tuple[TokenReviews[PodIdentity], ApiServerOfTokens]]:
    server = ApiServerOfTokens()
    async with answering(server.answer) as endpoint, KubeClient.to(endpoint) as client:
        yield TokenReviews(client, PODS, terms=terms, clock=clock), server


GOOD = [a_token(f"train-worker-{number}", sign="good") for number in range(20)]


def good(number: int = 0) -> str:
    return GOOD[number]


@asynchronous
async def test_what_was_refused_is_remembered_for_a_short_time() -> None:
    now = 0.0
    async with reviewing(ReviewTerms(refused_seconds=30), lambda: now) as (reviews, server):
        for _ in range(5):
            assert await reviews.bearer_of("bad") is None
        assert server.asked == ["bad"]
        now = 31.0
        assert await reviews.bearer_of("bad") is None
        assert server.asked == ["bad"] * 2


@asynchronous
async def test_junk_does_not_have_good_tokens_forgotten() -> None:
    terms = ReviewTerms(most_accepted=4, most_refused=4, in_vain_at_once=1_000)
    async with reviewing(terms) as (reviews, server):
        assert await reviews.bearer_of(good()) is not None
        for number in range(20):
            await reviews.bearer_of(f"bad-{number}")
        asked = len(server.asked)
        assert await reviews.bearer_of(good()) is not None
        assert len(server.asked) == asked
        await reviews.bearer_of("bad-0")
        assert len(server.asked) == asked + 1, "of junk only the last is remembered"


@asynchronous
async def test_equal_tokens_that_come_together_are_asked_about_once() -> None:
    async with reviewing(ReviewTerms()) as (reviews, server):
        found = await asyncio.gather(*(reviews.bearer_of(good()) for _ in range(50)))
        assert None not in found
        assert len(server.asked) == 1


@asynchronous
async def test_who_asks_in_vain_too_often_is_not_asked_for_and_others_are() -> None:
    now = 0.0
    terms = ReviewTerms(in_vain_at_once=3, in_vain_seconds=5)
    async with reviewing(terms, lambda: now) as (reviews, server):
        for number in range(3):
            assert await reviews.bearer_of(f"bad-{number}", "a") is None
        with pytest.raises(TooManyRequests):
            await reviews.bearer_of("bad-3", "a")
        assert len(server.asked) == 3
        assert await reviews.bearer_of("bad-0", "a") is None, "what is known costs nothing"
        assert await reviews.bearer_of("bad-4", "b") is None
        assert await reviews.bearer_of(good(), "b") is not None
        now = 5.1
        assert await reviews.bearer_of("bad-5", "a") is None


@asynchronous
async def test_good_tokens_cost_nothing_of_what_may_be_asked_in_vain() -> None:
    async with reviewing(ReviewTerms(in_vain_at_once=3)) as (reviews, server):
        for number in range(20):
            assert await reviews.bearer_of(good(number), "a") is not None
        assert len(server.asked) == 20


@asynchronous
async def test_only_so_many_wait_for_an_answer() -> None:
    async with reviewing(ReviewTerms(most_waiting=5)) as (reviews, server):
        server.held.clear()
        waiting = [asyncio.create_task(reviews.bearer_of(good(n), n)) for n in range(5)]
        await until(lambda: len(server.asked) == 5)
        with pytest.raises(TooManyRequests):
            await reviews.bearer_of(good(9), 9)
        server.held.set()
        assert None not in await asyncio.gather(*waiting)
        assert await reviews.bearer_of(good(9), 9) is not None
