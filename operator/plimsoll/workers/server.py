"""The endpoint that workers talk to: `POST /v1/report` and `GET /v1/notice`.

Only the replica that leads serves them; the others answer 503, and workers try again on another
connection. Who asks is proven by a token that is bound to the worker's pod.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from plimsoll import telemetry
from plimsoll.api.resource import Resource
from plimsoll.api.training_job import TrainingJob
from plimsoll.errors import ApiError, BadReport, NotLeader, UnknownToken, WorkerRefused
from plimsoll.kube.objects import Pod
from plimsoll.kube.token_reviews import PodIdentity
from plimsoll.observe.ownership import named_job
from plimsoll.planning.saving import save_interval_seconds
from plimsoll.workers.instructions import instructions
from plimsoll.workers.membership import Worker, worker_of, worker_report
from plimsoll.workers.messages import MOST_BYTES, decoded, encode
from plimsoll.workers.noticeboard import Noticeboard
from plimsoll.workers.registry import Registry

LONGEST_WAIT_SECONDS: Final = 60.0
_SCHEME: Final = "Bearer "


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the endpoint asks the rest of the operator: who leads, and what there is.

    `pod_of` gives the pod of a token, None if it is not good, and raises ApiError; `pod` finds one
    by name and namespace, `resource` a custom resource by its uid. `interruptions_per_hour` is the
    rate of a node of each pool by name. `woken` is called when a report should be acted on at once.
    """

    leads: Callable[[], bool]
    pod_of: Callable[[str], Awaitable[PodIdentity | None]]
    pod: Callable[[str, str], Pod | None]
    resource: Callable[[str], Resource | None]
    interruptions_per_hour: Callable[[], Mapping[str, Decimal]]
    woken: Callable[[], None]


class WorkerServer:
    """The HTTP server; port 0 takes any free one."""

    def __init__(
        self, around: Surroundings, registry: Registry, *, host: str = "", port: int = 8081
    ) -> None:
        self._around, self._registry = around, registry
        self._host, self._port = host or None, port
        self._board = Noticeboard(self._notice_of)
        self._looking: asyncio.Task[object] | None = None
        app = web.Application(client_max_size=MOST_BYTES, middlewares=[_answering])
        app.router.add_post("/v1/report", self._report)
        app.router.add_get("/v1/notice", self._notice)
        # Nothing of a request is logged: it carries a token.
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5
        )

    async def start(self) -> int:
        """Begin to answer; the port."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self._looking = asyncio.create_task(self._board.run())
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Stop answering."""
        if self._looking is not None:
            self._looking.cancel()
        await self._runner.cleanup()

    async def _report(self, request: web.Request) -> web.Response:
        worker = await self._worker(request)
        report = worker_report(worker, decoded(await request.read()), datetime.now(UTC))
        if self._registry.take(report):
            self._around.woken()
        return self._told(worker)

    async def _notice(self, request: web.Request) -> web.Response:
        seconds = _wait_seconds(request)
        worker = await self._worker(request)
        uid, known = worker.job.metadata.uid, request.query.get("known", "")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._board.differs(uid, known)
        return self._told(await self._worker(request))

    async def _worker(self, request: web.Request) -> Worker:
        """The worker that asks. Raises NotLeader, WorkerRefused and ApiError."""
        around = self._around
        token = _token(request)
        if not around.leads():
            raise NotLeader("this replica does not lead; try again on a new connection")
        identity = await around.pod_of(token)
        if identity is None:
            raise UnknownToken("the token is not valid; read it anew from PLIMSOLL_TOKEN_FILE")
        pod = around.pod(identity.name, identity.namespace)
        uid = named_job(pod) if pod is not None else ""
        return worker_of(identity, pod, around.resource(uid))

    def _told(self, worker: Worker) -> web.Response:
        said = self._registry.of(worker.pod_uid)
        told = instructions(
            worker.job,
            said.acknowledged if said else "",
            datetime.now(UTC),
            save_seconds=save_interval_seconds(worker.job, self._around.interruptions_per_hour()),
            report_seconds=self._registry.report_seconds,
        )
        return web.Response(body=encode(told), content_type="application/json")

    def _notice_of(self, job_uid: str) -> str | None:
        if not self._around.leads():
            return None
        job = self._around.resource(job_uid)
        notice = job.status.notice if isinstance(job, TrainingJob) else None
        return notice.id if notice else ""


@web.middleware
async def _answering(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """What becomes of errors: each is an answer, and each answer is counted."""
    try:
        response = await handler(request)
    except WorkerRefused as error:
        response = _refusal(error.status, str(error))
    except NotLeader as error:
        response = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
    except ApiError:
        text = "the API server cannot be asked about the token now; try again"
        response = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, text)
    except web.HTTPException as error:
        telemetry.WORKER_REQUESTS.labels(error.status).inc()
        raise
    telemetry.WORKER_REQUESTS.labels(response.status).inc()
    return response


def _refusal(status: int, text: str) -> web.Response:
    response = web.json_response({"error": text}, status=status)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        # On a connection that is kept one would ask the same replica again.
        response.force_close()
    return response


def _token(request: web.Request) -> str:
    given = request.headers.get(hdrs.AUTHORIZATION, "")
    if not given.startswith(_SCHEME):
        raise UnknownToken("no token: send what PLIMSOLL_TOKEN_FILE holds as Authorization: Bearer")
    return given.removeprefix(_SCHEME).strip()


def _wait_seconds(request: web.Request) -> float:
    text = request.query.get("wait", "0")
    try:
        seconds = float(text)
    except ValueError as error:
        raise BadReport(f"wait: {text!r} is no number; send seconds, such as 30") from error
    if not seconds >= 0:
        raise BadReport(f"wait: {text} is no span of time; send seconds, such as 30")
    return min(seconds, LONGEST_WAIT_SECONDS)
