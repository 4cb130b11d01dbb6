"""What nobody foresaw of one step or status costs itself only; all others are written."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from prometheus_client import REGISTRY

from plimsoll.acting.step import Step
from plimsoll.acting.writes.writer import Result, Writer, rest_seconds
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.kinds import JobStatus
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.snapshot import JobView
from plimsoll.supervision import Supervisor
from support.clusters.seen import seen
from support.objects.job_manifests import a_queue, a_training_job
from support.programs.asynchronous import asynchronous, until
from support.servers.answering_server import always, answering


class Heard:
    """What the writer has reported, by the names of jobs."""

    def __init__(self) -> None:
        self.results: dict[str, Result] = {}

    def read_job(self, raw: dict[str, object]) -> None:
        """The watch reports it, too."""

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        """Nothing is kept."""

    def wrote_pod(self, pod: Pod) -> None:
        """Nothing is kept."""

    def wrote_node(self, node: Node) -> None:
        """Nothing is kept."""

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """Nothing is kept."""

    def wrote_workload(self, item: WorkloadObject) -> None:
        """Nothing here adopts workloads."""

    def wrote_node_claim(self, claim: NodeClaim) -> None:
        """Nothing here buys nodes."""

    def wrote_provisioning_request(self, request: ProvisioningRequest) -> None:
        """Nothing here buys nodes."""

    def order_failed(self, pool: GPUPool, name: str) -> None:
        """Nothing here buys nodes."""

    def name_taken(self, name: str) -> None:
        """Nothing here buys nodes."""

    def doubted(self, reference: Reference) -> None:
        """Nothing is kept."""

    def done(self, step: Step, result: Result) -> None:
        name = step.job.resource.metadata.name
        self.results[name] = result
        if name.startswith("spoils"):
            raise ValueError("nobody foresaw this")


STORED = b'{"metadata": {"name": "x", "uid": "x", "resourceVersion": "7"}}'
CANNOT_BE_WRITTEN: Any = {"kind": "Pod", "metadata": {"name": "p", "namespace": "team"}, "x": Heard}


def a_step(name: str, **parts: Any) -> Step:  # noqa: ANN401 - parts of a step
    (job,) = seen(a_training_job(name)).jobs
    status = job.resource.status.model_copy(update={"message": "hello"})
    return Step(job, status, **parts)


def errors(doing: str) -> float:
    return REGISTRY.get_sample_value("plimsoll_object_errors_total", {"doing": doing}) or 0.0


@asynccontextmanager
async def a_writer() -> AsyncGenerator[tuple[Writer, Heard, Supervisor]]:
    heard, supervisor = Heard(), Supervisor()
    async with answering(always(STORED)) as server, KubeClient.to(server) as client:
        writer = Writer(client, client, EventRecorder(client), heard)
        for part in writer.parts():
            supervisor.begin(part)
        yield writer, heard, supervisor
        await supervisor.stop()


@asynchronous
async def test_an_unforeseen_error_in_one_step_costs_its_job_only() -> None:
    before = errors("step")
    async with a_writer() as (writer, heard, _):
        writer.submit(a_step("odd", create=(CANNOT_BE_WRITTEN,)))
        for number in range(40):
            writer.submit(a_step(f"plain-{number}"))
        await until(lambda: len(heard.results) == 41)
    complete = {name for name, result in heard.results.items() if result.complete}
    assert complete == {f"plain-{number}" for number in range(40)}
    assert heard.results["odd"] == Result(complete=False)
    assert errors("step") == before + 1
    assert REGISTRY.get_sample_value("plimsoll_part_restarts_total", {"part": "writer"}) == 0


@asynchronous
async def test_a_job_whose_step_met_an_unforeseen_error_rests_before_it_is_written_again() -> None:
    async with a_writer() as (writer, heard, _):
        odd = a_step("odd", create=(CANNOT_BE_WRITTEN,))
        begun = time.monotonic()
        writer.submit(odd)
        await until(lambda: "odd" in heard.results)
        assert time.monotonic() - begun >= rest_seconds(0)
        assert odd.job.uid not in writer.in_flight


@asynchronous
async def test_a_listener_that_fails_for_one_step_stops_no_other() -> None:
    async with a_writer() as (writer, heard, _):
        for number in range(40):
            writer.submit(a_step(f"spoils-{number}"))
        writer.submit(a_step("plain"))
        await until(lambda: "plain" in heard.results)
        assert not writer.in_flight


@asynchronous
async def test_no_job_waits_for_a_step_that_was_cancelled() -> None:
    asked = asyncio.Event()

    async def never(_request: web.Request) -> web.StreamResponse:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    heard = Heard()
    async with answering(never) as server, KubeClient.to(server) as client:
        writer = Writer(client, client, EventRecorder(client), heard)
        working = asyncio.create_task(writer.run())
        writer.submit(a_step("cut-short"))
        async with asyncio.timeout(10):
            await asked.wait()
        working.cancel()
        await asyncio.wait({working})
        assert not writer.in_flight
        assert heard.results["cut-short"] == Result(complete=False)


@asynchronous
async def test_a_status_that_cannot_be_written_costs_itself_only() -> None:
    snapshot = seen(a_queue("first"), a_queue("second"))
    first, second = snapshot.queues
    before = errors("status")
    async with a_writer() as (writer, _, _):
        unfit: Any = "no status"
        writer.publisher.submit([(first, unfit), (second, second.status)])
        await until(lambda: errors("status") == before + 1 and not writer.publisher.is_busy)
    assert REGISTRY.get_sample_value("plimsoll_part_restarts_total", {"part": "publisher"}) == 0
