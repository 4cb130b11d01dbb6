"""Custom resources as an API server reports them, real HTTP and made-up answers."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from plimsoll.control.resource_watch import ResourceWatch
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.supervision import Supervisor
from plimsoll_devcluster.manifest import Manifest
from support.objects.job_manifests import a_queue, a_training_job
from support.programs.asynchronous import asynchronous, until
from support.servers.answering_server import answering

QUICK = WatchTerms(first_retry_seconds=0.01, longest_retry_seconds=0.05)


def stored(manifest: Manifest, version: int, **meta: Any) -> Manifest:  # noqa: ANN401
    name = manifest["metadata"]["name"]
    known = {"uid": f"uid-{name}", "resourceVersion": str(version), "namespace": "team", **meta}
    return {**manifest, "metadata": {**manifest["metadata"], **known}}


class Server:
    """What it lists of training jobs and queues, and what their watches report, line by line."""

    def __init__(self, **listed: list[Manifest]) -> None:
        self.listed = listed
        self.junk: list[bytes] = []
        """Answers that are given first."""
        self.lists = Counter[str]()
        self.gates: dict[str, asyncio.Event] = {}
        """What the answer to a list waits for, by plural."""
        self.watches = self.open = 0
        self.news: asyncio.Queue[bytes] = asyncio.Queue()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        plural = request.path.rpartition("/")[2]
        if "watch" in request.query:
            return await self._watched(request, plural)
        self.lists[plural] += 1
        if plural in self.gates:
            await self.gates[plural].wait()
        if self.junk:
            return web.Response(body=self.junk.pop())
        items = self.listed.get(plural, [])
        return web.json_response({"metadata": {"resourceVersion": "10"}, "items": items})

    async def _watched(self, request: web.Request, plural: str) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        if plural != "trainingjobs":
            await asyncio.Event().wait()
        self.watches, self.open = self.watches + 1, self.open + 1
        try:
            while True:
                await response.write(await self.news.get() + b"\n")
        finally:
            self.open -= 1

    def send(self, kind: str, about: Manifest | bytes) -> None:
        body = about if isinstance(about, bytes) else json.dumps(about).encode()
        self.news.put_nowait(b'{"type": "%s", "object": %s}' % (kind.encode(), body))


@asynccontextmanager
async def watching(
    server: Server, terms: WatchTerms = QUICK
) -> AsyncGenerator[tuple[CustomResources, ResourceWatch]]:
    resources, supervisor = CustomResources(lambda: None), Supervisor()
    async with answering(server.answer) as endpoint, KubeClient.to(endpoint) as client:
        watch = ResourceWatch(client, resources, lambda: None, terms)
        for part in watch.parts():
            supervisor.begin(part)
        try:
            yield resources, watch
        finally:
            await supervisor.stop()


def names(resources: CustomResources) -> set[str]:
    return {each.metadata.name for each in resources.all()}


@asynchronous
async def test_what_is_listed_and_what_happens_then_is_known() -> None:
    server = Server(
        trainingjobs=[stored(a_training_job("first"), 5)], jobqueues=[stored(a_queue("q"), 6)]
    )
    async with watching(server) as (resources, watch):
        await watch.wait_synced()
        assert names(resources) == {"first", "q"}
        server.send("ADDED", stored(a_training_job("second"), 11))
        await until(lambda: names(resources) == {"first", "second", "q"})
        server.send("DELETED", stored(a_training_job("first"), 12))
        await until(lambda: names(resources) == {"second", "q"})


@asynchronous
async def test_a_deletion_is_known_though_the_object_cannot_be_read() -> None:
    server = Server(trainingjobs=[stored(a_training_job("first"), 5)])
    async with watching(server) as (resources, watch):
        await watch.wait_synced()
        identity = b'"name": "first", "uid": "uid-first", "resourceVersion": "11"'
        server.send("DELETED", b'{"metadata": {%s, "generation": 1e999}}' % identity)
        await until(lambda: not names(resources))


@asynchronous
async def test_an_object_nested_thousands_of_levels_costs_no_other() -> None:
    deep = json.dumps(stored(a_training_job("deep"), 11))
    deep = deep[:-1] + ', "x": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}"
    server = Server()
    async with watching(server) as (resources, watch):
        await watch.wait_synced()
        server.send("ADDED", deep.encode())
        server.send("ADDED", stored(a_training_job("plain"), 12))
        await until(lambda: "plain" in names(resources))
        assert server.lists["trainingjobs"] == 1, "its watch went on"


@asynchronous
async def test_an_answer_that_is_none_is_asked_for_again() -> None:
    server = Server(trainingjobs=[stored(a_training_job("first"), 5)])
    server.junk = [b"", b"<html>log in</html>", b'{"items": "all"}', b"\xff\xfe"] * 4
    async with watching(server) as (resources, watch):
        async with asyncio.timeout(30):
            await watch.wait_synced()
        assert names(resources) == {"first"}


@asynchronous
async def test_news_that_are_none_break_a_watch_that_is_made_anew() -> None:
    server = Server()
    async with watching(server) as (resources, watch):
        await watch.wait_synced()
        server.news.put_nowait(b"<html>log in</html>")
        await until(lambda: (server.watches, server.open) == (2, 1))
        server.send("ADDED", stored(a_training_job("later"), 12))
        await until(lambda: names(resources) == {"later"})


@asynchronous
async def test_all_is_listed_again_after_a_while_though_nothing_broke() -> None:
    server = Server()
    terms = WatchTerms(first_retry_seconds=0.01, longest_between_lists_seconds=0)
    async with watching(server, terms) as (resources, watch):
        await watch.wait_synced()
        server.listed["trainingjobs"] = [stored(a_training_job("unheard"), 7)]
        server.news.put_nowait(b"this ends the watch")
        await until(lambda: names(resources) == {"unheard"})


DOUBTING = WatchTerms(doubt_seconds=0.05)
TRAINING, QUEUE = "TrainingJob", "JobQueue"


@asynchronous
async def test_what_a_silent_watch_has_missed_is_listed() -> None:
    server = Server()
    async with watching(server, DOUBTING) as (resources, watch):
        await watch.wait_synced()
        server.listed["trainingjobs"] = [stored(a_training_job("unheard"), 7)]
        # A watch that was only opened after that is not doubted.
        await until(lambda: watch.missed(TRAINING) or names(resources) == {"unheard"})


@asynchronous
async def test_a_watch_that_says_anything_is_believed() -> None:
    server = Server(trainingjobs=[stored(a_training_job("first"), 5)])
    async with watching(server, DOUBTING) as (resources, watch):
        await watch.wait_synced()
        watch.missed(TRAINING)
        server.send("DELETED", stored(a_training_job("first"), 11))
        await until(lambda: not names(resources))
        # The queues' watch, doubted later, says nothing.
        await until(lambda: watch.missed(QUEUE) or server.lists["jobqueues"] > 1)
        assert server.lists["trainingjobs"] == 1


@asynchronous
async def test_a_list_is_not_given_up_for_what_was_missed_meanwhile() -> None:
    server = Server(trainingjobs=[stored(a_training_job("first"), 5)])
    server.gates["trainingjobs"] = gate = asyncio.Event()
    async with watching(server, DOUBTING) as (resources, watch):
        await until(lambda: server.lists["trainingjobs"] == 1)
        watch.missed(TRAINING)
        await until(lambda: watch.missed(QUEUE) or server.lists["jobqueues"] > 1)
        assert server.lists["trainingjobs"] == 1
        gate.set()
        await until(lambda: names(resources) == {"first"})
