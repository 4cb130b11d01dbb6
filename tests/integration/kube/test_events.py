import asyncio
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prometheus_client import REGISTRY

from plimsoll.kube.events import EventRecorder, EventTerms, Saying, Subject
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import EVENTS, ApiPath
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.cluster import Cluster
from support.objects.config_maps import CONFIG_MAPS, ConfigMap
from support.programs.asynchronous import asynchronous

# A bucket of the windows begins at this minute.
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@dataclass
class World:
    """A recorder that runs, and a clock that the tests move."""

    client: KubeClient
    recorder: EventRecorder
    subject: Subject
    now: list[datetime] = field(default_factory=lambda: [NOON])

    def say(self, message: str = "needs 4 GPUs", reason: Reason = Reason.PENDING) -> None:
        self.recorder.record(Saying(self.subject, reason, message))

    def later(self, seconds: float) -> None:
        self.now[0] += timedelta(seconds=seconds)

    async def events(self) -> list[dict[str, Any]]:
        await self.recorder.flush()
        path = EVENTS.within(self.subject.namespace or "default")
        found = await self.client.list_all(path, dict[str, Any])
        mine = [e for e in found if e["involvedObject"].get("uid") == self.subject.uid]
        return sorted(mine, key=lambda event: (event["firstTimestamp"], event["message"]))


@asynccontextmanager
async def a_world(
    server: Endpoint, namespace: str, *, terms: EventTerms | None = None, leads: bool = True
) -> AsyncGenerator[World]:
    async with (
        KubeClient.to(server) as client,
        KubeClient.to(server, may_write=lambda: leads) as writer,
    ):
        made = await client.create(
            CONFIG_MAPS.within(namespace), {"metadata": {"generateName": "job-"}}, ConfigMap
        )
        subject = Subject("v1", "ConfigMap", made.metadata.name, made.metadata.uid, namespace)
        now = [NOON]
        recorder = EventRecorder(
            writer, instance="plimsoll-0", terms=terms or EventTerms(), clock=lambda: now[0]
        )
        running = asyncio.create_task(recorder.run())
        try:
            yield World(client, recorder, subject, now)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def event_writes() -> float:
    verbs = ("create", "patch")
    labels = ({"verb": verb, "resource": "events"} for verb in verbs)
    found = (REGISTRY.get_sample_value("plimsoll_api_writes_total", each) for each in labels)
    return sum(value or 0.0 for value in found)


def dropped(cause: str) -> float:
    return REGISTRY.get_sample_value("plimsoll_events_dropped_total", {"cause": cause}) or 0.0


@asynchronous
async def test_an_event_says_what_about_which_object(server: Endpoint, namespace: str) -> None:
    async with a_world(server, namespace) as world:
        world.say("needs 4 × H100", Reason.INSUFFICIENT_GPUS)
        (event,) = await world.events()
    assert event["reason"] == "InsufficientGPUs"
    assert event["message"] == "needs 4 × H100"
    assert event["type"] == "Normal"
    assert event["involvedObject"]["name"] == world.subject.name
    assert event["count"] == 1
    assert event["reportingInstance"] == "plimsoll-0"


@asynchronous
async def test_what_is_said_again_is_counted_with_one_write_a_window(
    server: Endpoint, namespace: str
) -> None:
    async with a_world(server, namespace) as world:
        before = event_writes()
        for _ in range(1000):
            world.say()
        (event,) = await world.events()
        assert event["count"] == 1
        assert event_writes() == before + 1
        world.later(300)
        for _ in range(1000):
            world.say()
        (event,) = await world.events()
        assert event["count"] == 1000
        assert event["lastTimestamp"] == "2026-11-21T12:05:00Z"
        assert event_writes() == before + 2
        world.later(300)
        world.say()
        (event,) = await world.events()
        assert event["count"] == 2000
        assert event_writes() == before + 3


@asynchronous
async def test_different_things_are_different_events(server: Endpoint, namespace: str) -> None:
    async with a_world(server, namespace) as world:
        world.say("one")
        world.say("two")
        world.say("two", Reason.ADMITTED)
        assert len(await world.events()) == 3


@asynchronous
async def test_what_was_quiet_for_a_window_begins_anew(server: Endpoint, namespace: str) -> None:
    async with a_world(server, namespace) as world:
        world.say()
        world.later(300)
        world.say("something else")
        world.later(300)
        world.say()
        counts = [event["count"] for event in await world.events()]
        assert counts == [1, 1, 1]


@asynchronous
async def test_a_restart_does_not_say_it_twice(server: Endpoint, namespace: str) -> None:
    before = dropped("AlreadyExists")
    async with a_world(server, namespace) as world:
        world.say()
        await world.events()
        async with KubeClient.to(server) as client:
            restarted = EventRecorder(client, clock=lambda: NOON + timedelta(seconds=100))
            running = asyncio.create_task(restarted.run())
            restarted.record(Saying(world.subject, Reason.PENDING, "needs 4 GPUs"))
            await restarted.flush()
            running.cancel()
        (event,) = await world.events()
        assert event["count"] == 1
    assert dropped("AlreadyExists") == before


@asynchronous
async def test_a_count_of_an_event_that_has_expired_is_said_anew(
    server: Endpoint, namespace: str
) -> None:
    async with a_world(server, namespace) as world:
        world.say()
        world.say()
        (event,) = await world.events()
        path = EVENTS.named(event["metadata"]["name"], namespace)
        await world.client.delete(path, dict[str, Any])
        world.later(300)
        world.say("anything")
        counts = {event["message"]: event["count"] for event in await world.events()}
        assert counts == {"needs 4 GPUs": 2, "anything": 1}


@asynchronous
async def test_what_no_queue_has_room_for_is_dropped_and_counted(
    server: Endpoint, namespace: str
) -> None:
    before = dropped("QueueFull")
    async with a_world(server, namespace, terms=EventTerms(most_waiting=3)) as world:
        for number in range(10):
            world.say(f"message {number}")
        assert len(await world.events()) == 3
    assert dropped("QueueFull") == before + 7


@asynchronous
async def test_one_who_does_not_lead_says_nothing(server: Endpoint, namespace: str) -> None:
    before = dropped("NotLeader")
    async with a_world(server, namespace, leads=False) as world:
        world.say()
        assert await world.events() == []
    assert dropped("NotLeader") == before + 1


@asynchronous
async def test_a_very_long_message_is_cut(server: Endpoint, namespace: str) -> None:
    async with a_world(server, namespace) as world:
        world.say("x" * 5000)
        (event,) = await world.events()
    assert len(event["message"]) == 1024
    assert event["message"].endswith("…")


@asynchronous
async def test_an_event_about_a_cluster_wide_object_can_be_found(
    server: Endpoint, namespace: str
) -> None:
    async with a_world(server, namespace) as world:
        world.subject = Subject("plimsoll.dev/v1alpha1", "GPUPool", "h100", f"uid-{namespace}")
        world.say()
        (event,) = await world.events()
    assert event["metadata"]["namespace"] == "default"


@asynchronous
async def test_kubectl_describe_shows_it(
    control_plane: Cluster, server: Endpoint, namespace: str, kubectl: Path
) -> None:
    async with a_world(server, namespace) as world:
        world.say("needs 4 × H100 on one node", Reason.INSUFFICIENT_GPUS)
        await world.events()
        command = [kubectl, "--kubeconfig", control_plane.kubeconfig, "-n", namespace]
        described = await asyncio.to_thread(
            subprocess.check_output, [*command, "describe", "configmap", world.subject.name]
        )
    (line,) = [line for line in described.decode().splitlines() if "InsufficientGPUs" in line]
    assert "needs 4 × H100 on one node" in line
    assert "plimsoll" in line


@asynchronous
async def test_what_is_said_of_one_namespace_in_masses_keeps_no_others_events_waiting(
    server: Endpoint, namespace: str
) -> None:
    terms = EventTerms(writers=1, most_waiting_of_one=300)
    async with a_world(server, namespace, terms=terms) as world:
        before = dropped("QueueFull")
        for number in range(1000):
            world.say(f"flaps {number}")
        assert dropped("QueueFull") == before + 700
        uid = f"other-{world.subject.uid}"
        other = Subject("v1", "ConfigMap", "other", uid, "default")
        world.recorder.record(Saying(other, Reason.ADMITTED, "has a place"))
        path = EVENTS.within("default")
        async with asyncio.timeout(20):
            while not await said(world, path, uid):
                pass
        assert await said(world, EVENTS.within(namespace), world.subject.uid) < 300


async def said(world: World, path: ApiPath, uid: str) -> int:
    """How many events there are about an object."""
    found = await world.client.list_all(path, dict[str, Any])
    return sum(event["involvedObject"].get("uid") == uid for event in found)
