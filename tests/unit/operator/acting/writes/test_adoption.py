"""In which order what follows for workloads is written, and what happens if it is refused."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from plimsoll.acting.adoption.changes import LetGo, adoption_changes
from plimsoll.acting.writes.adoption import AdoptionWriter
from plimsoll.acting.writes.crowds import MOST_NAMED, TOLD_ALONE
from plimsoll.clock import SYSTEM
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_jobs import seen_job
from support.clusters.adopted_workloads import SUSPENDED, at_rest, candidate, jobs_of
from support.clusters.seen import seen
from support.objects.batch_jobs import a_batch_job
from support.objects.manifests import edited
from support.objects.workloads import a_jobset, asking, held, replicated
from support.programs.asynchronous import asynchronous, until
from support.servers.answering_server import answering

BATCH, SETS = "/apis/batch/v1/namespaces/team/jobs", "/apis/jobset.x-k8s.io/v1alpha2"
JOBSET = f"{SETS}/namespaces/team/jobsets/train"
STORED = b'{"metadata": {"name": "x", "namespace": "team", "uid": "x", "resourceVersion": "7"}}'


@dataclass
class Written:
    """What was written to where, in order; `refuses` is the path of what may not be."""

    refuses: str = ""
    patches: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    heard: int = 0
    created: list[str] = field(default_factory=list[str])
    events: list[Manifest] = field(default_factory=list[Manifest])
    windows: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Take a write."""
        if request.path.endswith("/events"):
            self.events.append(json.loads(await request.read()))
        elif request.method == "POST":
            self.created.append(request.path)
        if request.method == "PATCH":
            self.patches.append((request.path, json.loads(await request.read())))
        if request.path == self.refuses:
            status = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "changed"}
            return web.json_response(status, status=409)
        return web.Response(body=STORED, content_type="application/json")

    @property
    def paths(self) -> list[str]:
        """Where something was written to."""
        return [path for path, _ in self.patches]

    def wrote_workload(self, item: WorkloadObject) -> None:
        """A workload was written."""
        self.heard += item.metadata.name == "x"

    def read_job(self, raw: dict[str, Any]) -> None:
        """Nothing is kept."""


@asynccontextmanager
async def a_writer(refuses: str = "") -> AsyncGenerator[tuple[AdoptionWriter, Written]]:
    """A writer that runs, and what it has written."""
    written = Written(refuses)
    async with answering(written.answer) as server, KubeClient.to(server) as client:
        events = EventRecorder(client)
        writer = AdoptionWriter(client, events, written, SYSTEM, later=written.windows.append)
        running = asyncio.gather(writer.run(), events.run())
        try:
            yield writer, written
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def a_set() -> list[Manifest]:
    """A suspended JobSet that no longer asks to be planned, and its gated Jobs."""
    jobs = [replicated("workers", gpus=1, replicas=2)]
    jobset = held(asking(a_jobset(replicatedJobs=jobs)))
    made = [edited(job, {"status": {"conditions": [SUSPENDED]}}) for job in jobs_of(jobset)]
    return [edited(at_rest(jobset), {"metadata.labels": {}}), *made]


@asynchronous
async def test_jobs_are_ungated_before_their_jobset_is_resumed() -> None:
    async with a_writer() as (writer, written):
        writer.submit([LetGo(candidate(*a_set()))])
        await until(lambda: written.heard == 3)
    jobs = [f"{BATCH}/train-workers-0", f"{BATCH}/train-workers-1"]
    assert written.paths == [*jobs, JOBSET]
    *_, (_, last) = written.patches
    assert last[-1] == {"op": "add", "path": "/spec/suspend", "value": False}


@asynchronous
async def test_a_jobset_is_not_resumed_while_a_job_of_its_stays_gated() -> None:
    first, second = f"{BATCH}/train-workers-0", f"{BATCH}/train-workers-1"
    async with a_writer(refuses=second) as (writer, written):
        change = LetGo(candidate(*a_set()))
        writer.submit([change])
        await until(lambda: written.paths == [first, second])
        written.refuses = ""

        def is_let_go() -> bool:
            writer.submit([change])
            return JOBSET in written.paths

        await until(is_let_go)
    assert written.paths[:5] == [first, second, first, second, JOBSET]


@asynchronous
async def test_many_that_are_adopted_at_once_are_told_of_by_few_events() -> None:
    jobs = [seen_job(a_batch_job(f"sweep-{number}")) for number in range(50)]
    async with a_writer() as (writer, written):
        writer.submit(adoption_changes(seen(*jobs).adopted, advises=False))
        assert writer.is_busy
        await until(lambda: len(written.created) == 50 and len(written.events) == TOLD_ALONE)
        assert not writer.is_busy
        (close,) = written.windows
        close()
        await until(lambda: len(written.events) == TOLD_ALONE + 1)
    *alone, crowd = written.events
    assert {event["involvedObject"]["kind"] for event in alone} == {"Job"}
    assert crowd["involvedObject"]["kind"] == "Namespace"
    text, count = crowd["message"], 50 - TOLD_ALONE
    assert text.startswith(f"{count} workloads planned in queue default as TrainingJobs: job-sweep")
    assert text.endswith(f" and {count - MOST_NAMED} more")
