import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from aiohttp import web

from plimsoll.acting.writes.unreadable import AGAIN_SECONDS, RefusedWriter
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.observe.refused import RefusedObject, refused_object
from support.clusters.seen import NOW
from support.programs.asynchronous import asynchronous, until
from support.servers.answering_server import answering

STORED = b'{"metadata": {"name": "x", "uid": "x", "resourceVersion": "7"}}'


def refused(name: str, namespace: str = "team", version: int = 7) -> RefusedObject:
    meta = {"name": name, "namespace": namespace, "uid": name, "resourceVersion": str(version)}
    return refused_object({"kind": "TrainingJob", "metadata": meta}, "spec.queue: is required")


class Server:
    """Answers as it is told to, and keeps what was written, by name."""

    def __init__(self) -> None:
        self.status, self.now = 200, 0.0
        self.asked: list[str] = []
        self.written: dict[str, str] = {}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        name = request.path.split("/")[-2]
        self.asked.append(name)
        if self.status == 200:
            self.written[name] = json.loads(await request.text())["status"]["reason"]
        return web.Response(body=STORED, status=self.status, content_type="application/json")


@asynccontextmanager
async def writing() -> AsyncGenerator[tuple[RefusedWriter, Server]]:
    server = Server()
    async with answering(server.answer) as endpoint, KubeClient.to(endpoint) as client:
        writer = RefusedWriter(client, EventRecorder(client), clock=lambda: server.now)
        task = asyncio.create_task(writer.run())
        yield writer, server
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynchronous
async def test_each_version_is_reported_once() -> None:
    async with writing() as (writer, server):
        for version in (7, 7, 7, 8):
            writer.submit([refused("bad", version=version)], NOW)
        await until(lambda: len(server.asked) == 2)
        assert server.written == {"bad": "InvalidSpec"}


@asynchronous
async def test_what_could_not_be_written_is_tried_again_after_a_while_only() -> None:
    async with writing() as (writer, server):
        server.status = 409
        writer.submit([refused("bad")], NOW)
        await until(lambda: server.asked == ["bad"])
        server.status = 200
        writer.submit([refused("bad"), refused("next")], NOW)
        await until(lambda: "next" in server.written)  # so the failure before it is known
        server.now = AGAIN_SECONDS - 1
        writer.submit([refused("bad"), refused("other")], NOW)
        await until(lambda: "other" in server.written)
        assert "bad" not in server.written
        server.now = AGAIN_SECONDS + 1
        writer.submit([refused("bad")], NOW)
        await until(lambda: "bad" in server.written)


@asynchronous
async def test_a_thousand_of_one_namespace_keep_no_other_from_being_reported() -> None:
    async with writing() as (writer, server):
        many = [refused(f"bad-{number}", "hostile") for number in range(1000)]
        writer.submit([*many, refused("mine")], NOW)
        await until(lambda: "mine" in server.written)
        assert server.asked.index("mine") <= 1
