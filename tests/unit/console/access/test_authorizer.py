import asyncio
from typing import Any

import pytest
from aiohttp import web

from plimsoll.errors import Unavailable
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.transport import Limits
from plimsoll_console.access.authorizer import DENIED_SECONDS, Authorizer
from plimsoll_console.access.rights import Place
from plimsoll_console.access.users import User, seconds_left
from support.programs.asynchronous import asynchronous
from support.servers.answering_server import always, answering
from support.servers.worker_endpoint import a_token

USER = User("mira", groups=("team",))
PLACES: set[Place] = {("TrainingJob", "team"), ("TrainingJob", "other")}


class Reviewer:
    """Allows what it is told to, and counts what it is asked."""

    def __init__(self, *allowed: tuple[str, str]) -> None:
        self.allowed, self.asked = set(allowed), list[dict[str, Any]]()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        spec = (await request.json())["spec"]
        self.asked.append(spec)
        wanted = spec["resourceAttributes"]
        may = (wanted["resource"], wanted.get("namespace", "")) in self.allowed
        return web.json_response({"status": {"allowed": may}})


@asynchronous
async def test_what_is_allowed_is_asked_for_again_soon_and_what_is_denied_somewhere_later() -> None:
    now = 0.0
    reviewer = Reviewer(("trainingjobs", "team"), ("nodes", ""))
    async with answering(reviewer.answer) as server, KubeClient.to(server) as client:
        authorizer = Authorizer(client, seconds=5, clock=lambda: now)
        rights = await authorizer.rights(USER, PLACES)
        assert rights.places == {("TrainingJob", "team")}
        assert (rights.nodes, rights.queues, rights.kinds) == (True, False, frozenset())
        asked = len(reviewer.asked)
        assert await authorizer.rights(USER, PLACES) == rights
        assert len(reviewer.asked) == asked
        now, reviewer.allowed = 6.0, {("trainingjobs", "other")}
        rights = await authorizer.rights(USER, PLACES)
        assert (rights.places, rights.nodes) == (frozenset(), False)
        now = DENIED_SECONDS + 1
        assert (await authorizer.rights(USER, PLACES)).places == {("TrainingJob", "other")}
    said = reviewer.asked[0]
    assert (said["user"], said["groups"]) == ("mira", ["team"])


@asynchronous
async def test_a_review_that_fails_gives_no_right() -> None:
    limits = Limits(attempts=1)
    failing = answering(always(b"{}", 500))
    async with failing as server, KubeClient.to(server, limits=limits) as client:
        with pytest.raises(Unavailable):
            await Authorizer(client, seconds=5).rights(USER, PLACES)


@asynchronous
async def test_equal_questions_that_come_together_are_asked_once() -> None:
    reviewer = Reviewer()
    async with answering(reviewer.answer) as server, KubeClient.to(server) as client:
        authorizer = Authorizer(client, seconds=5)
        await asyncio.gather(*(authorizer.rights(USER, PLACES) for _ in range(20)))
    assert len(reviewer.asked) == 7 + len(PLACES)


def test_the_expiry_of_a_token_is_read_where_it_has_one() -> None:
    assert seconds_left("opaque", 100) == float("inf")
    assert seconds_left("a.b.c", 100) == float("inf")
    assert seconds_left(a_token("worker", exp=160), 100) == 60
