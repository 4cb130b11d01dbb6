"""Assemble the console: watches, reviews, views, server; start and stop them."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from plimsoll.clock import SYSTEM
from plimsoll.kube.heartbeat import Heartbeat
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.transport import Limits
from plimsoll.supervision import Part, Supervisor
from plimsoll.vocabulary import logs
from plimsoll_console.access.authorizer import Authorizer
from plimsoll_console.access.users import user_reviews
from plimsoll_console.accounting import Accounting
from plimsoll_console.asking.desk import Desk
from plimsoll_console.asking.outlook import Outlook
from plimsoll_console.cluster.feed import Feed
from plimsoll_console.history.recording import Recording
from plimsoll_console.ledger.database.connection import connected
from plimsoll_console.notifications.notifier import Notifier, Subscription
from plimsoll_console.server import ConsoleServer
from plimsoll_console.serving.asker import Askers
from plimsoll_console.serving.questions import Questions
from plimsoll_console.serving.shown import Shown
from plimsoll_console.settings import Settings

REVIEWS = Limits(writes_at_once=32, writes_per_second=500, request_seconds=5.0)
"""How many reviews the API server gets. Besides them, the console writes one Lease."""
_log = logs.logger(__name__)


class Console:
    """The console. Its state is what it sees, but for the ledger."""

    def __init__(self, endpoint: Endpoint, settings: Settings) -> None:
        self.feed = Feed(endpoint, settings)
        self._settings, self._reviews = settings, KubeClient.to(endpoint, limits=REVIEWS)
        audiences = [each.strip() for each in settings.audiences.split(",") if each.strip()]
        users = user_reviews(self._reviews, audiences, seconds=settings.rights_seconds)
        authorizer = Authorizer(self._reviews, seconds=settings.rights_seconds)
        askers = Askers(self.feed, users, authorizer)
        self._recording = Recording(self.feed, hours=settings.history_hours)
        self._desk = Desk(at_once=settings.answers_at_once, seconds=settings.answer_seconds)
        self._outlook = Outlook(self.feed, self._desk)
        shown = Shown({"history": self._recording.of, "queue": self._outlook.line})
        self.server = ConsoleServer(settings, self.feed, askers, shown)
        questions = Questions(askers, shown, self._desk)
        self.server.answer("explain", questions.explain)
        self.server.answer("whatif", questions.what_if)
        self._accounting = (
            Accounting(settings, askers, self.server) if settings.ledger_url else None
        )
        if self._accounting is not None:
            shown.show("cluster", self._accounting.cluster)
        self._notifier = _notifier(settings, self.feed) if settings.notifications_url else None
        self._supervisor = Supervisor()
        self.server.add_probes(alive=list, ready=self._problems)

    async def start(self) -> None:
        """Start watching and serving."""
        port = await self.server.start()
        _log.info("serving the console", port=port)
        for part in self._parts():
            self._supervisor.begin(part)
        self._desk.warm_up()

    def _parts(self) -> Iterator[Part]:
        """What runs from start to stop; whatever fails is restarted."""
        yield from self.feed.parts()
        yield Part("history", self._recording.run)
        yield Part("outlook", self._outlook.run)
        if self._accounting is not None:
            yield Part("ledger", partial(self._accounting.run, self.feed))
            if self._settings.ledger_lease:
                yield Part("ledger lease", partial(self._accounting.announce, self._lease()))
        if self._notifier is not None:
            yield Part("notifications", self._notifier.run)

    def _lease(self) -> Heartbeat:
        settings = self._settings
        return Heartbeat(self._reviews, namespace=settings.namespace, name=settings.ledger_lease)

    async def stop(self) -> None:
        """Stop serving and watching, and end."""
        await self.server.stop()
        await self._supervisor.stop()
        await asyncio.to_thread(self._desk.close)
        if self._accounting is not None:
            self._accounting.close()
        await self.feed.close()
        await self._reviews.__aexit__(None, None, None)

    def _problems(self) -> list[str]:
        unseen = [] if self.feed.latest is not None else ["no snapshot was made yet"]
        return [*unseen, *self.feed.staleness(), *self._supervisor.problems()]


def _notifier(settings: Settings, feed: Feed) -> Notifier:
    secret = settings.notifications_secret_file
    subscription = Subscription(
        settings.notifications_url,
        settings.notifications_source,
        settings.notification_kinds,
        Path(secret) if secret else None,
    )
    return Notifier(subscription, connected(settings.ledger_url), feed.current, SYSTEM.now)
