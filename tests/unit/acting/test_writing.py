import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from answering_server import answering
from api_server_that_hangs import serving_targets
from asynchronous import asynchronous, until
from job_manifests import a_training_job
from plimsoll.acting.step import Step, TargetWrites
from plimsoll.acting.writing import TOLD_TOGETHER, Result, Writer, rest_seconds
from plimsoll.api.kinds import JobStatus
from plimsoll.kube.client import KubeClient
from plimsoll.kube.credentials import Endpoint
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.objects import Node, Pod
from plimsoll.kube.target_reading import TARGET_LIMITS
from plimsoll.kube.workloads import Reference, Scale
from plimsoll.observe.snapshot import JobView
from plimsoll_devcluster.manifest import Manifest
from seen import at, seen
from target_lives import a_targeting_job


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0.5), (1, 1.0), (4, 8.0), (5, 8.0), (100_000, 8.0)]
)
def test_the_rest_after_a_failure_grows_up_to_an_end(failures: int, seconds: float) -> None:
    assert rest_seconds(failures) == seconds


class Heard:
    """Who is told what was written: it keeps that."""

    def __init__(self) -> None:
        self.scaled: dict[Reference, int] = {}
        self.doubts: list[Reference] = []
        self.over: list[tuple[Step, bool]] = []

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        """Who is told of it hears of the step's end, too."""

    def wrote_pod(self, pod: Pod) -> None:
        """No step of these tests writes one."""

    def wrote_node(self, node: Node) -> None:
        """No step of these tests writes one."""

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        self.scaled[reference] = scale.spec.replicas

    def doubted(self, reference: Reference) -> None:
        self.doubts.append(reference)

    def done(self, step: Step, result: Result) -> None:
        self.over.append((step, result.complete))


@asynccontextmanager
async def writing(server: Endpoint) -> AsyncGenerator[tuple[Writer, Heard]]:
    async with KubeClient(server) as client, KubeClient(server, limits=TARGET_LIMITS) as targets:
        heard = Heard()
        writer = Writer(client, targets, EventRecorder(client), heard)
        running = asyncio.create_task(writer.run())
        try:
            yield writer, heard
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def a_scaling(name: str, namespace: str, *, sees: int = 1) -> Step:
    """The step of a job that has its target scaled to 2."""
    job: Manifest = a_targeting_job(name)
    job["metadata"]["namespace"] = namespace
    (view,) = seen(job).jobs
    reference = Reference(namespace, "apps/v1", "Deployment", name)
    return Step(view, view.status_written, target=TargetWrites(reference, 2, sees))


@asynchronous
async def test_targets_that_hang_keep_no_other_from_being_scaled() -> None:
    async with (
        serving_targets(hangs=frozenset({"hostile"})) as targets,
        writing(targets.server) as (writer, heard),
    ):
        for number in range(200):
            writer.submit(a_scaling(f"t{number}", "hostile"))
        mine = a_scaling("mine", "team")
        writer.submit(mine)
        await until(lambda: heard.over)
        assert heard.over == [(mine, True)]
        assert heard.scaled == {Reference("team", "apps/v1", "Deployment", "mine"): 1}


@asynchronous
async def test_a_target_with_another_count_than_was_seen_is_looked_at_again() -> None:
    async with serving_targets() as targets, writing(targets.server) as (writer, heard):
        step = a_scaling("mine", "team", sees=7)
        writer.submit(step)
        await until(lambda: heard.over == [(step, False)])
        assert not heard.scaled
        assert heard.doubts == [Reference("team", "apps/v1", "Deployment", "mine")]


def a_telling(name: str, namespace: str) -> Step:
    """The step of a job that has nothing but another message."""
    job = a_training_job(name)
    job["metadata"]["namespace"] = namespace
    (view,) = seen(job).jobs
    return Step(view, view.status_written.model_copy(update={"message": "waits"}))


def a_placing(name: str, namespace: str) -> Step:
    """The step of a job that has a place now."""
    job = a_training_job(name)
    job["metadata"]["namespace"] = namespace
    (view,), (placed,) = seen(job).jobs, seen(at(job, "node")).jobs
    return Step(view, placed.status_written)


@asynchronous
async def test_what_one_namespace_is_told_holds_nothing_else_up() -> None:
    asked: set[str] = set()

    async def answer(request: web.Request) -> web.Response:
        asked.add(request.path)
        if "/hostile/" in request.path and "/slow-" in request.path:
            await asyncio.Event().wait()
        return web.json_response({"metadata": {"resourceVersion": "2"}})

    async with answering(answer) as server, writing(server) as (writer, heard):
        for number in range(200):
            writer.submit(a_telling(f"slow-{number}", "hostile"))
        others = a_telling("mine", "team"), a_placing("theirs", "hostile")
        for step in others:
            writer.submit(step)
        await until(lambda: len(heard.over) == len(others))
        assert all(step in others and complete for step, complete in heard.over)
        assert len(asked) == TOLD_TOGETHER + len(others)
