import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from standardwebhooks import Webhook as Receiver

from plimsoll_console.errors import NotDelivered
from plimsoll_console.ledger.database.connection import connected
from plimsoll_console.ledger.database.schema import migrate
from plimsoll_console.notifications.delivery import Delivery, DeliveryTerms
from plimsoll_console.notifications.occurrences import Kind, Occurrence
from plimsoll_console.notifications.outbox import Outbox
from plimsoll_console.notifications.webhook import Webhook
from support.programs.asynchronous import asynchronous
from support.servers.answering_server import answering

TERMS = DeliveryTerms()
SECRET = "whsec_" + base64.b64encode(b"a secret of some length").decode()


@dataclass
class Clock:
    at: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    def __call__(self) -> datetime:
        return self.at


@dataclass
class Post:
    """A receiver's server: it keeps what it gets, and answers with the statuses one by one."""

    statuses: Iterator[int]
    got: list[tuple[dict[str, str], bytes]] = field(
        default_factory=list[tuple[dict[str, str], bytes]]
    )

    async def answer(self, request: web.Request) -> web.Response:
        self.got.append((dict(request.headers), await request.read()))
        return web.Response(status=next(self.statuses), headers={"Location": "/elsewhere"})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outbox(tmp_path: Path, clock: Clock) -> Iterator[Outbox]:
    engine = connected(f"sqlite:///{tmp_path / 'ledger.sqlite'}")
    migrate(engine)
    outbox = Outbox(engine, "/a", clock())
    outbox.tell([Occurrence(Kind.STARTED, "TrainingJob/t/j", "uid", "q", clock())], clock())
    yield outbox
    engine.dispose()


@asynchronous
async def test_a_receiver_can_prove_who_sent_an_event(
    tmp_path: Path, outbox: Outbox, clock: Clock
) -> None:
    (tmp_path / "secret").write_text(SECRET + "\n")
    post = Post(iter([204]))
    secret = tmp_path / "secret"
    async with answering(post.answer) as server, Webhook(server.server, secret) as webhook:
        assert await Delivery(outbox, webhook, clock).deliver_due() == 1
    ((headers, body),) = post.got
    assert Receiver(SECRET).verify(body, headers)["type"] == "dev.plimsoll.job.started"
    assert headers["Content-Type"].startswith("application/cloudevents+json")
    assert outbox.waiting() == 0


@asynchronous
async def test_an_event_is_tried_again_until_it_is_taken(outbox: Outbox, clock: Clock) -> None:
    post = Post(iter([500, 302, 200]))
    async with answering(post.answer) as server, Webhook(server.server, None) as webhook:
        delivery = Delivery(outbox, webhook, clock)
        for attempt in range(3):
            assert outbox.waiting() == 1
            assert await delivery.deliver_due() == 1
            assert await delivery.deliver_due() == 0
            clock.at += TERMS.pause(attempt)
    assert outbox.waiting() == 0
    assert {body for _, body in post.got} == {post.got[0][1]}


@asynchronous
async def test_an_event_that_nobody_takes_for_a_day_is_given_up(
    outbox: Outbox, clock: Clock
) -> None:
    async with answering(Post(iter([])).answer) as server:
        gone = server.server
    async with Webhook(gone, None) as webhook:
        await Delivery(outbox, webhook, clock).deliver_due()
        assert outbox.waiting() == 1
        clock.at += timedelta(days=1)
        await Delivery(outbox, webhook, clock).deliver_due()
    assert outbox.waiting() == 0


@asynchronous
async def test_without_its_secret_nothing_is_sent(tmp_path: Path, clock: Clock) -> None:
    post = Post(iter([]))
    async with answering(post.answer) as server:
        async with Webhook(server.server, tmp_path / "absent") as webhook:
            with pytest.raises(NotDelivered, match="absent"):
                await webhook.post("id", b"{}", clock())
        (tmp_path / "empty").write_text("")
        async with Webhook(server.server, tmp_path / "empty") as webhook:
            with pytest.raises(NotDelivered, match="secret"):
                await webhook.post("id", b"{}", clock())
    assert not post.got


def test_pauses_grow_up_to_an_hour() -> None:
    pauses = [TERMS.pause(attempts).total_seconds() for attempts in (0, 1, 2, 20, 10_000)]
    assert pauses == [5, 10, 20, 3600, 3600]
