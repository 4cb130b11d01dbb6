"""The logs of a job's pods are read together, over broken connections and restarts, to its end."""

import asyncio
from collections.abc import AsyncGenerator, Iterable

import pytest
from msgspec.structs import replace

from plimsoll.cli import main
from plimsoll.cli.jobs.logs import Followed, LogChoice, PodLine, logs_followed, logs_now
from plimsoll.errors import BadInput, Forbidden
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.logs import LONGEST_LINE, LogQuery, LogTerms
from plimsoll.kube.objects.objects import (
    Container,
    ContainerState,
    ContainerStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    Terminated,
    Waiting,
)
from plimsoll.observe.labels import ROLE
from support.programs.asynchronous import asynchronous, until
from support.servers.container_logs import LogServer, PodLog, log_server

QUICK = LogTerms(first_retry_seconds=0.01, pause_seconds=0.01)
ALL = LogChoice(LogQuery())
RUNS = ContainerState()
ENDED = ContainerState(terminated=Terminated(exit_code=0))
WAITS = ContainerState(waiting=Waiting("ContainerCreating"))


def a_pod(name: str, state: ContainerState = RUNS, *, role: str = "worker") -> Pod:
    status = ContainerStatus(name="main", state=state)
    return Pod(
        ObjectMeta(name=name, namespace="team", uid=f"uid-of-{name}", labels={ROLE: role}),
        PodSpec(containers=(Container(name="main"),)),
        PodStatus(phase="Succeeded" if state is ENDED else "Running", container_statuses=(status,)),
    )


class States:
    """What becomes of a job's pods, as the test tells it."""

    def __init__(self) -> None:
        self._states = asyncio.Queue[Followed]()

    def tell(self, *pods: Pod, over: bool = False) -> None:
        self._states.put_nowait(Followed(pods, over))

    async def turns(self) -> AsyncGenerator[Followed]:
        while True:
            yield await self._states.get()


async def follow(client: KubeClient, states: States, found: list[PodLine]) -> None:
    """Follow the logs to their end, line by line."""
    async for each in logs_followed(client, states.turns(), ALL, print, QUICK):
        found.append(each)  # noqa: PERF401 - seen line by line


def texts(lines: Iterable[PodLine]) -> list[tuple[str, str]]:
    return [(each.pod, each.line.text) for each in lines]


async def begins(server: LogServer, states: States, found: list[PodLine], pod: Pod) -> None:
    """A job begins with this pod, whose first line is followed."""
    server.write(pod.metadata.name, "begun")
    states.tell(pod)
    await until(lambda: texts(found) == [(pod.metadata.name, "begun")])


@asynchronous
async def test_the_logs_of_all_pods_come_pod_by_pod_over_few_connections() -> None:
    async with log_server() as (server, client):
        pods = [a_pod(f"train-{index:02}") for index in range(20)]
        for pod in pods:
            server.write(pod.metadata.name, "one", "", "three")
        choice = LogChoice(LogQuery(tail_lines=3, since_seconds=60), at_once=4)
        found = texts([each async for each in logs_now(client, pods, choice, print, QUICK)])
    assert found == [(pod.metadata.name, text) for pod in pods for text in ("one", "", "three")]
    assert server.most_open <= 4
    asked = {"container": "main", "timestamps": "true", "tailLines": "3", "sinceSeconds": "60"}
    assert server.asked[0] == {"pod": "train-00", **asked}


@asynchronous
async def test_a_connection_that_breaks_loses_and_repeats_no_line() -> None:
    async with log_server() as (server, client):
        server.write("train-0", *map(str, range(100)))
        server.logs["train-0"].breaks_after = 40
        lines = logs_now(client, [a_pod("train-0")], ALL, print, QUICK)
        found = [each.line.text async for each in lines]
    assert found == [*map(str, range(100))]
    assert len(server.asked) == 2
    assert "tailLines" not in server.asked[1]


@asynchronous
async def test_only_the_chosen_role_is_read_and_an_unknown_one_names_those_there_are() -> None:
    pods = [a_pod("train-worker-0"), a_pod("train-launcher-0", role="launcher")]
    async with log_server() as (server, client):
        server.write("train-launcher-0", "launched")
        choice = LogChoice(LogQuery(), role="launcher")
        found = texts([each async for each in logs_now(client, pods, choice, print, QUICK)])
        assert found == [("train-launcher-0", "launched")]
        with pytest.raises(BadInput, match="use one of launcher, worker"):
            await anext(logs_now(client, pods, LogChoice(LogQuery(), role="x"), print, QUICK))
        choice = LogChoice(LogQuery(), container="x")
        with pytest.raises(BadInput, match="has no such container: use one of main"):
            await anext(logs_now(client, pods, choice, print, QUICK))


@asynchronous
async def test_a_container_without_a_log_is_told_of_and_the_others_are_read() -> None:
    notes: list[str] = []
    async with log_server() as (server, client):
        server.write("b", "here")
        server.logs["c"] = PodLog(refusal=400)
        pods = [a_pod("a", WAITS), a_pod("b"), a_pod("c")]
        found = texts([each async for each in logs_now(client, pods, ALL, notes.append, QUICK)])
    assert found == [("b", "here")]
    assert notes == ["a: main has not started, so there is no log of it", "c: is refused"]


@asynchronous
async def test_a_user_who_may_not_read_logs_is_told_so() -> None:
    async with log_server() as (server, client):
        server.logs["a"] = PodLog(refusal=403)
        with pytest.raises(Forbidden):
            await anext(logs_now(client, [a_pod("a")], ALL, print, QUICK))
        states = States()
        states.tell(a_pod("a"))
        with pytest.raises(Forbidden):
            await anext(logs_followed(client, states.turns(), ALL, print, QUICK))


@asynchronous
async def test_pods_that_come_after_a_restart_are_followed_until_the_job_ends() -> None:
    states, found = States(), list[PodLine]()
    async with log_server() as (server, client):
        reading = asyncio.create_task(follow(client, states, found))
        await begins(server, states, found, a_pod("first"))
        server.write("first", "crashed")
        server.end("first")
        states.tell(a_pod("second", WAITS))
        await until(lambda: ("first", "crashed") in texts(found))
        server.write("second", "goes on")
        states.tell(a_pod("second"))
        await until(lambda: ("second", "goes on") in texts(found))
        assert not reading.done()
        server.write("second", "done")
        server.end("second")
        states.tell(a_pod("second", ENDED), over=True)
        await reading
    assert texts(found)[-1] == ("second", "done")
    assert len(found) == 4


@asynchronous
async def test_what_a_kubelet_says_in_the_place_of_a_log_is_no_line_of_it() -> None:
    states, found = States(), list[PodLine]()
    async with log_server() as (server, client):
        reading = asyncio.create_task(follow(client, states, found))
        await begins(server, states, found, a_pod("train-0"))
        server.lose("train-0")
        await until(lambda: len(server.asked) > 1)
        server.write("train-0", "begun anew")
        await until(lambda: texts(found)[1:] == [("train-0", "begun anew")])
        server.end("train-0")
        states.tell(a_pod("train-0", ENDED), over=True)
        await reading
    assert server.asked[1]["sinceTime"].startswith("2026-11-27T10:00:00")
    assert len(found) == 2


@asynchronous
async def test_a_log_that_is_lost_is_told_of_where_it_is_not_followed() -> None:
    notes: list[str] = []
    async with log_server() as (server, client):
        server.write("a", "here")
        server.lose("a")
        server.write("b", "there")
        pods = [a_pod("a"), a_pod("b")]
        found = texts([each async for each in logs_now(client, pods, ALL, notes.append, QUICK)])
    assert found == [("a", "here"), ("b", "there")]
    assert notes == ["a: unable to retrieve container logs for containerd://20d1c7d5"]


@asynchronous
async def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole() -> None:
    async with log_server() as (server, client):
        server.write("a", "long " * (LONGEST_LINE // 4), "next")
        lines = logs_now(client, [a_pod("a")], ALL, print, QUICK)
        first, *rest = [each.line.text async for each in lines]
    assert first.startswith("long long")
    assert LONGEST_LINE <= len(first) < 1.25 * LONGEST_LINE
    assert rest == ["next"]


@asynchronous
async def test_a_pod_that_takes_the_name_of_another_is_read_once() -> None:
    states, found = States(), list[PodLine]()
    async with log_server() as (server, client):
        reading = asyncio.create_task(follow(client, states, found))
        first = a_pod("train-0")
        await begins(server, states, found, first)
        server.replace("train-0", "another")
        server.write("train-0", "", "", "begun anew")
        server.end("train-0")
        second = replace(first, metadata=replace(first.metadata, uid="another"))
        await until(lambda: server.read.get("train-0", 0) > 0)
        states.tell(second)
        ended = a_pod("train-0", ENDED)
        states.tell(replace(ended, metadata=second.metadata), over=True)
        await reading
    assert [each.line.text for each in found] == ["begun", "", "", "begun anew"]


@asynchronous
async def test_what_came_before_a_broken_connection_is_told_is_read_to_the_end() -> None:
    states = States()
    async with log_server() as (server, client):
        server.write("train-0", "one", "two", "three")
        server.logs["train-0"].breaks_after = 1
        server.end("train-0")
        states.tell(a_pod("train-0"))
        states.tell(a_pod("train-0", ENDED), over=True)
        lines = logs_followed(client, states.turns(), ALL, print, QUICK)
        assert [each.line.text async for each in lines] == ["one", "two", "three"]


@asynchronous
async def test_more_pods_than_connections_wait_and_that_is_said() -> None:
    states, notes = States(), list[str]()
    async with log_server() as (server, client):
        for name in ("a", "b", "c"):
            server.write(name, "x")
        choice = LogChoice(LogQuery(), at_once=2)
        states.tell(*(a_pod(name) for name in "abc"))
        lines = logs_followed(client, states.turns(), choice, notes.append, QUICK)
        first = {(await anext(lines)).pod, (await anext(lines)).pod}
        for name in ("a", "b", "c"):
            server.end(name)
        states.tell(*(a_pod(name, ENDED) for name in "abc"), over=True)
        rest = [each.pod async for each in lines]
    assert (first, rest, server.most_open) == ({"a", "b"}, ["c"], 2)
    (note,) = notes
    assert note.startswith("only 2 pods are followed at once: choose some with --role, or raise")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--since", "soon"), "write it like 45s, 10m or 1h30m"),
        (("--since", "5ms"), "is too short: use 1s or more"),
        (("--tail", "-1"), "is not a whole number: use 0 or more"),
        (("--max-connections", "0"), "is not a whole number: use 1 or more"),
        (("-f", "--previous"), "not allowed with argument"),
    ],
)
def test_senseless_options_are_refused_with_a_remedy(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["logs", "train", *arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
