import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.watching.target_reading import EACH_NAMESPACE, TARGET_LIMITS
from plimsoll.kube.watching.target_watch import (
    GRACE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    LOOK_PAUSE_SECONDS,
    TargetWatch,
    pause_seconds,
)
from plimsoll.kube.watching.workloads import Reference
from support.programs.asynchronous import asynchronous, until
from support.servers.api_server_that_hangs import serving_targets

NOWHERE = Endpoint("http://127.0.0.1:1", None, lambda: None)
HOSTILE = frozenset({"hostile"})
QUICK = replace(TARGET_LIMITS, request_seconds=0.3)


def named(name: str, namespace: str = "team") -> Reference:
    return Reference(namespace, "apps/v1", "Deployment", name)


@asynccontextmanager
async def watching(
    server: Endpoint, wanted: Iterable[Reference] | Callable[[], list[Reference]]
) -> AsyncGenerator[TargetWatch]:
    """Watch these targets; requests are given up soon."""
    asked = wanted if callable(wanted) else lambda: list(wanted)
    async with KubeClient.to(server, limits=QUICK) as client:
        watch = TargetWatch(client, asked, lambda: None, seconds=60)
        running = asyncio.create_task(watch.run())
        try:
            yield watch
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def problems(watch: TargetWatch, namespace: str = "team") -> dict[str, str]:
    """What is wrong with the targets that are known, by name; "" where nothing is."""
    known = (each for each in watch.readings() if each.reference.namespace == namespace)
    return {each.reference.name: each.problem for each in known}


@pytest.mark.slow
@asynchronous
async def test_however_often_jobs_change_it_is_seldom_seen_which_targets_there_are() -> None:
    looks = 0

    def wanted() -> list[Reference]:
        nonlocal looks
        looks += 1
        return []

    begun = asyncio.get_running_loop().time()
    async with watching(NOWHERE, wanted) as watch:
        for _ in range(500):
            watch.look()
            await asyncio.sleep(0.002)
        took = asyncio.get_running_loop().time() - begun
    assert 2 <= looks <= 2 + took / LOOK_PAUSE_SECONDS


@asynchronous
async def test_where_there_are_no_targets_nothing_has_to_be_read() -> None:
    async with KubeClient.to(NOWHERE) as client:
        moment = time.monotonic()
        assert TargetWatch(client, list, lambda: None, seconds=60).is_from(moment)
        assert not TargetWatch(client, lambda: [named("a")], lambda: None, seconds=60).is_from(
            moment
        )


@asynchronous
async def test_one_acts_at_once_by_targets_that_answer() -> None:
    moment = time.monotonic()
    async with serving_targets() as targets, watching(targets.server, [named("a")]) as watch:
        await until(lambda: watch.is_from(moment))
        assert problems(watch) == {"a": ""}
        later = time.monotonic()
        assert not watch.is_from(later)
        assert problems(watch) == {}, "it may be another by now"
        await until(lambda: watch.is_from(later))
        assert problems(watch) == {"a": ""}


@pytest.mark.slow
@asynchronous
async def test_a_thousand_targets_that_hang_delay_no_other_namespace() -> None:
    hanging = [named(f"t{n}", "hostile") for n in range(1000)]
    async with (
        serving_targets(hangs=HOSTILE) as targets,
        watching(targets.server, [*hanging, named("a"), named("b")]) as watch,
    ):
        begun = time.monotonic()
        await until(lambda: problems(watch) == {"a": "", "b": ""})
        assert time.monotonic() - begun < GRACE_SECONDS
        await until(lambda: watch.is_from(begun))
        assert problems(watch) == {"a": "", "b": ""}
        await until(lambda: targets.asked.total() > 5 * EACH_NAMESPACE)
    # The server hears a moment late that one was given up.
    assert targets.most_under_way["hostile"] <= 2 * EACH_NAMESPACE


@pytest.mark.slow
@asynchronous
async def test_a_target_that_hangs_is_reported() -> None:
    async with (
        serving_targets(hangs=HOSTILE) as targets,
        watching(targets.server, [named("t", "hostile")]) as watch,
    ):
        await until(lambda: problems(watch, "hostile"))
        message = problems(watch, "hostile")["t"]
        assert (
            message == "Deployment t cannot be read now, no answer in time: it is asked for again"
        )


@pytest.mark.slow
@asynchronous
async def test_a_target_that_once_answered_stays_as_it_was_while_it_fails() -> None:
    async with serving_targets() as targets, watching(targets.server, [named("a")]) as watch:
        await until(lambda: problems(watch) == {"a": ""})
        asked = targets.asked.total()
        targets.fails = True
        watch.read_again(named("a"))
        await until(lambda: targets.asked.total() > asked)
        later = time.monotonic()
        await until(lambda: watch.is_from(later))
        await until(lambda: problems(watch) == {"a": ""})


BODIES = {
    "without end": (b"x" * (3 * 1024**2), "larger than 2097152 bytes"),
    "of another type": (b'{"spec": {"replicas": "many"}}', "$.spec.replicas"),
    "with too many replicas": (b'{"spec": {"replicas": 4000000000}}', "$.spec.replicas"),
    "in no JSON": (b"<html>", "cannot read"),
    "in no text": (b'{"metadata": {"name": "\xff"}}', "cannot read"),
}


@pytest.mark.parametrize(("body", "words"), BODIES.values(), ids=BODIES.keys())
@asynchronous
async def test_an_answer_that_cannot_be_used_is_reported_at_once(body: bytes, words: str) -> None:
    async with serving_targets(body=body) as targets, watching(targets.server, [named("a")]) as w:
        await until(lambda: "a" in problems(w))
        assert words in problems(w)["a"]
        assert targets.asked.total() == 1


def a_group_of(size: int) -> bytes:
    meta = b'"metadata": {"resourceVersion": "1"}'
    return b'{%s, "spec": {"leaderWorkerTemplate": {"size": %d}}}' % (meta, size)


@asynchronous
async def test_a_group_without_end_is_reported_by_its_field() -> None:
    async with (
        serving_targets(body=a_group_of(2_000_000_000)) as targets,
        watching(targets.server, [named("a")]) as watch,
    ):
        await until(lambda: "a" in problems(watch))
        assert "<= 64 - at `$.spec.leaderWorkerTemplate.size`" in problems(watch)["a"]


@asynchronous
async def test_no_name_leads_to_another_path() -> None:
    pods = Reference("team", "../api/v1/pods", "Deployment", "a")
    nobody = Reference("team", "apps/v1", "Deployment", "..")
    async with serving_targets() as targets, watching(targets.server, [pods, nobody]) as watch:
        await until(lambda: {"a", ".."} == problems(watch).keys())
        assert "cannot be part of a path" in problems(watch)[".."]
        assert not targets.asked


@asynchronous
async def test_targets_that_nobody_wants_any_more_are_forgotten() -> None:
    wanted = [named("a"), named("b")]
    async with serving_targets() as targets, watching(targets.server, lambda: wanted) as watch:
        await until(lambda: problems(watch).keys() == {"a", "b"})
        del wanted[0]
        watch.look()
        await until(lambda: problems(watch).keys() == {"b"})


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, 10), (1, 1), (2, 10), (3, 20), (7, LONGEST_PAUSE_SECONDS), (10**6, LONGEST_PAUSE_SECONDS)],
)
def test_what_fails_is_asked_for_ever_more_seldom(failures: int, seconds: float) -> None:
    assert pause_seconds(10, failures) == seconds


def test_a_pause_is_never_shorter_than_one_was_told() -> None:
    assert pause_seconds(600, 5) == 600
