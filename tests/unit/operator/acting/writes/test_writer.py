import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from plimsoll.acting.step import Step, TargetWrites
from plimsoll.acting.writes.writer import (
    REPORTING_SHARE,
    SHARE_OF_ONE,
    STUCK_SECONDS,
    WRITES,
    Result,
    Writer,
    rest_seconds,
)
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.kinds import JobStatus
from plimsoll.clock import SYSTEM, Clock
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.target_reading import TARGET_LIMITS
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.snapshot import JobView
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import at, pods_of, seen
from support.clusters.target_lives import a_targeting_job
from support.objects.job_manifests import a_training_job
from support.programs.asynchronous import asynchronous, until
from support.servers.answering_server import Answer, answering
from support.servers.api_server_that_hangs import serving_targets


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0.5), (1, 1.0), (4, 8.0), (5, 8.0), (100_000, 8.0)]
)
def test_the_rest_after_a_failure_grows_up_to_an_end(failures: int, seconds: float) -> None:
    assert rest_seconds(failures) == seconds


class Heard:
    """A listener that keeps what was written."""

    def __init__(self) -> None:
        self.scaled: dict[Reference, int] = {}
        self.doubts: list[Reference] = []
        self.pods: list[str] = []
        self.over: list[tuple[Step, bool]] = []

    def read_job(self, raw: Manifest) -> None:
        """The watch reports it, too."""

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        """The step's end is reported, too."""

    def wrote_pod(self, pod: Pod) -> None:
        self.pods.append(pod.metadata.name)

    def wrote_node(self, node: Node) -> None:
        """No step of these tests writes one."""

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        self.scaled[reference] = scale.spec.replicas

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
        self.doubts.append(reference)

    def done(self, step: Step, result: Result) -> None:
        self.over.append((step, result.complete))


@asynccontextmanager
async def writing(
    server: Endpoint, monotonic: Callable[[], float] = time.monotonic
) -> AsyncGenerator[tuple[Writer, Heard]]:
    async with (
        KubeClient.to(server) as client,
        KubeClient.to(server, limits=TARGET_LIMITS) as targets,
    ):
        heard, clock = Heard(), Clock(SYSTEM.now, monotonic)
        writer = Writer(client, targets, EventRecorder(client), heard, clock=clock)
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


def a_report(name: str, namespace: str) -> Step:
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


def slow(asked: set[str]) -> Answer:
    """What is asked is kept, and answered but for what is called slow."""

    async def answer(request: web.Request) -> web.Response:
        asked.add(request.path)
        if "/slow-" in request.path:
            await asyncio.Event().wait()
        return web.json_response({"metadata": {"resourceVersion": "2"}})

    return answer


@asynchronous
async def test_reports_to_one_namespace_hold_nothing_else_up() -> None:
    asked: set[str] = set()

    async with answering(slow(asked)) as server, writing(server) as (writer, heard):
        for number in range(200):
            writer.submit(a_report(f"slow-{number}", "hostile"))
        others = a_report("mine", "team"), a_placing("theirs", "hostile")
        for step in others:
            writer.submit(step)
        await until(lambda: len(heard.over) == len(others))
        assert all(step in others and complete for step, complete in heard.over)
        assert len(asked) <= WRITES.first * REPORTING_SHARE + len(others)


@asynchronous
async def test_a_namespace_whose_writes_hang_does_not_have_all_writers() -> None:
    asked: set[str] = set()

    async with answering(slow(asked)) as server, writing(server) as (writer, heard):
        for number in range(100):
            writer.submit(a_placing(f"slow-{number}", "hostile"))
        mine = a_placing("mine", "team")
        writer.submit(mine)
        await until(lambda: heard.over)
        assert heard.over == [(mine, True)]
        assert len(asked) <= WRITES.first * SHARE_OF_ONE + 1


@asynchronous
async def test_plans_wait_for_writes_but_not_for_those_that_hang() -> None:
    now = 0.0

    async def answer(_request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with answering(answer) as server, writing(server, lambda: now) as (writer, _):
        placing, reporting = a_placing("placing", "team"), a_report("reporting", "team")
        for step in (placing, reporting, a_scaling("scaling", "team")):
            writer.submit(step)
        assert len(writer.in_flight) == 3
        assert (writer.under_way(), writer.stuck()) == (1, frozenset()), "the others hold up nobody"
        now = STUCK_SECONDS + 1
        is_reported = {reporting.job.uid}
        assert (writer.under_way(), writer.stuck()) == (0, writer.in_flight - is_reported)


@pytest.mark.slow
@asynchronous
async def test_a_report_is_stuck_once_it_fails_not_while_the_server_is_slow() -> None:
    now, fails, may_answer = 0.0, False, asyncio.Event()

    async def answer(_request: web.Request) -> web.Response:
        await may_answer.wait()
        if fails:
            return web.json_response({"message": "refused", "reason": "Invalid"}, status=422)
        return web.json_response({"metadata": {"resourceVersion": "2"}})

    async with answering(answer) as server, writing(server, lambda: now) as (writer, heard):
        report = a_report("job", "team")
        writer.submit(report)
        now += STUCK_SECONDS + 1
        assert not writer.stuck()
        may_answer.set()
        await until(lambda: heard.over)
        fails = True
        for _ in range(2):
            writer.submit(report)
            now += STUCK_SECONDS + 1
            await until(lambda: not writer.in_flight)
        writer.submit(report)
        assert writer.stuck() == {report.job.uid}


@pytest.mark.slow
@asynchronous
async def test_a_step_that_fails_again_and_again_is_stuck_until_it_is_done() -> None:
    now, fails = 0.0, True

    async def answer(_request: web.Request) -> web.Response:
        if fails:
            return web.json_response({"message": "changed", "reason": "Conflict"}, status=409)
        return web.json_response({"metadata": {"resourceVersion": "2"}})

    async with answering(answer) as server, writing(server, lambda: now) as (writer, heard):
        step = a_placing("job", "team")
        for _ in range(2):
            writer.submit(step)
            assert not writer.stuck(), "it may well be done"
            await until(lambda: not writer.in_flight)
            now += 0.6 * STUCK_SECONDS
        fails = False
        writer.submit(step)
        assert writer.stuck() == {step.job.uid}
        await until(lambda: not writer.in_flight)
        assert [complete for _, complete in heard.over] == [False, False, True]
        writer.submit(step)
        assert not writer.stuck(), "it is another one"


@asynchronous
async def test_a_pod_counts_as_made_until_it_is_known_whether_it_was() -> None:
    (view,) = seen(a_training_job("job")).jobs
    (pod,) = pods_of(at(a_training_job("job"), "node"))
    pod["metadata"]["namespace"] = "team"
    stored = {**pod, "metadata": {**pod["metadata"], "uid": "it", "resourceVersion": "2"}}
    looks, answers = 0, asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal looks
        if request.method == "GET":
            looks += 1
            if answers.is_set():
                return web.json_response({"metadata": {"resourceVersion": "3"}, "items": [stored]})
        assert request.transport is not None
        request.transport.abort()  # it is done, and no answer comes
        return web.Response()

    async with answering(answer) as server, writing(server) as (writer, heard):
        writer.submit(Step(view, view.status_written, create=(pod,)))
        await until(lambda: looks > 1)
        assert [(each.name, each.node) for each in writer.doubtful_pods()] == [
            ("job-worker-0", "node")
        ]
        assert (heard.pods, heard.over) == ([], []), "nothing else is done for the job meanwhile"
        answers.set()
        await until(lambda: heard.over)
        assert heard.pods == ["job-worker-0"]
        assert writer.doubtful_pods() == []


@asynchronous
async def test_a_pod_that_is_about_to_be_made_holds_its_place() -> None:
    (placed,) = seen(at(a_training_job("slow-job"), "node")).jobs
    (view,) = seen(a_training_job("slow-job")).jobs
    (pod,) = pods_of(at(a_training_job("slow-job"), "node"))
    asked: set[str] = set()

    async with answering(slow(asked)) as server, writing(server) as (writer, _):
        writer.submit(Step(view, placed.status_written, create=(pod,)))
        await until(lambda: asked)
        assert asked == {
            "/apis/plimsoll.dev/v1alpha1/namespaces/team/trainingjobs/slow-job/status"
        }, "its user may take the place from the job while that is written"
        assert [(each.name, each.node) for each in writer.doubtful_pods()] == [
            ("slow-job-worker-0", "node")
        ]
