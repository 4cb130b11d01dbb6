"""Many jobs that are admitted at once are told of by few events."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest
from aiohttp import web

from plimsoll.acting.step import JobEvent
from plimsoll.acting.writes.crowds import MOST_NAMED, TOLD_ALONE
from plimsoll.acting.writes.job_events import JobEvents
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.vocabulary.reasons import Reason
from support.clusters.seen import at, pods_of, seen
from support.objects.job_manifests import a_training_job
from support.programs.asynchronous import asynchronous, until
from support.servers.answering_server import answering

Say = Callable[[int, str], None]


class Windows(list[Callable[[], None]]):
    """What is to be done once the windows that are open are over."""

    def end(self) -> None:
        """Let them be over."""
        due = self.copy()
        self.clear()
        for close in due:
            close()


@asynccontextmanager
async def saying() -> AsyncGenerator[tuple[JobEvents, Windows, list[dict[str, Any]]]]:
    """The windows that a test ends, and the events that reach the API server."""
    heard: list[dict[str, Any]] = []
    windows = Windows()

    async def answer(request: web.Request) -> web.Response:
        heard.append(msgspec.json.decode(await request.read()))
        return web.json_response({"metadata": {"resourceVersion": "2"}})

    async with answering(answer) as server, KubeClient.to(server) as client:
        recorder = EventRecorder(client)
        running = asyncio.create_task(recorder.run())
        try:
            yield JobEvents(recorder, later=windows.append), windows, heard
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def admit(events: JobEvents, number: int, *, queue: str = "default") -> None:
    (view,) = seen(a_training_job(f"job-{number}", queue=queue)).jobs
    events.say(view, JobEvent(Reason.ADMITTED, f"placed: node-{number}"))


def about(heard: list[dict[str, Any]]) -> list[str]:
    return [f"{e['involvedObject']['kind']}/{e['involvedObject']['name']}" for e in heard]


@asynchronous
async def test_few_admissions_have_an_event_each() -> None:
    async with saying() as (events, _, heard):
        for number in range(TOLD_ALONE):
            admit(events, number)
        await until(lambda: len(heard) == TOLD_ALONE)
        assert sorted(about(heard)) == sorted(f"TrainingJob/job-{n}" for n in range(TOLD_ALONE))


@pytest.mark.parametrize("more", [1, MOST_NAMED])
@asynchronous
async def test_a_few_more_have_theirs_a_little_later(more: int) -> None:
    async with saying() as (events, windows, heard):
        for number in range(TOLD_ALONE + more):
            admit(events, number)
        windows.end()
        await until(lambda: len(heard) == TOLD_ALONE + more)
        assert set(about(heard)) == {f"TrainingJob/job-{n}" for n in range(TOLD_ALONE + more)}


@asynchronous
async def test_hundreds_are_told_of_by_one_event_about_their_namespace() -> None:
    async with saying() as (events, windows, heard):
        for number in range(500):
            admit(events, number)
        await until(lambda: len(heard) == TOLD_ALONE)
        windows.end()
        await until(lambda: len(heard) == TOLD_ALONE + 1)
        last = heard[-1]
        named = ", ".join(f"job-{n}" for n in range(TOLD_ALONE, TOLD_ALONE + MOST_NAMED))
        assert last["message"] == (
            f"490 jobs of queue default placed: {named} and {490 - MOST_NAMED} more; each says"
            " where"
        )
        assert (last["reason"], last["type"]) == ("Admitted", "Normal")
        place = last["involvedObject"]
        assert (place["kind"], place["name"], place["namespace"]) == ("Namespace", "team", "team")
        assert last["metadata"]["namespace"] == "team"


@asynchronous
async def test_each_queue_is_told_of_for_itself_and_each_window_anew() -> None:
    async with saying() as (events, windows, heard):
        for number in range(30):
            admit(events, number, queue="a")
            admit(events, number + 100, queue="b")
        windows.end()
        await until(lambda: len(heard) == 2 * (TOLD_ALONE + 1))
        messages = sorted(event["message"] for event in heard if "more" in event["message"])
        assert [message[:27] for message in messages] == [
            "20 jobs of queue a placed: ",
            "20 jobs of queue b placed: ",
        ]
        windows.end()
        admit(events, 1000, queue="a")
        await until(lambda: about(heard)[-1] == "TrainingJob/job-1000")


@asynchronous
async def test_while_more_come_in_each_window_none_is_told_of_alone() -> None:
    async with saying() as (events, windows, heard):
        for number in range(50):
            admit(events, number)
        windows.end()
        await until(lambda: len(heard) == TOLD_ALONE + 1)
        for number in range(50, 70):
            admit(events, number)
        windows.end()
        await until(lambda: len(heard) == TOLD_ALONE + 2)
        assert about(heard).count("Namespace/team") == 2
        assert heard[-1]["message"].startswith("20 jobs of queue default placed: job-50, ")


@asynchronous
async def test_all_else_that_happens_to_a_job_has_an_event_of_its_own() -> None:
    async with saying() as (events, _, heard):
        for number in range(TOLD_ALONE + 5):
            admit(events, number)
        job = at(a_training_job("moved"), "node")
        (view,) = seen(job, *pods_of(job)).jobs
        for reason in (Reason.PREEMPTED, Reason.COMPLETED):
            events.say(view, JobEvent(reason, "so it is", warning=reason is Reason.PREEMPTED))
        events.say(view, JobEvent(Reason.ADMITTED, "again", pods=view.pods))
        await until(lambda: len(heard) == TOLD_ALONE + 4)
        assert about(heard)[-4:] == ["TrainingJob/moved"] * 3 + ["Pod/moved-worker-0"]
