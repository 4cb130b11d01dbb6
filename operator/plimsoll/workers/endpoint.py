"""The endpoint for workers: `POST /v1/report` and `GET /v1/notice`.

Only the leader serves them; the other replicas answer 503, and workers try again on another
connection. A token bound to the worker's pod proves who is asking. Everything that can be checked
without the API server is checked first, and failed token reviews are limited per address, and
within it per claimed pod. They are not limited per pod or namespace as such: a claim proves
nothing, so anyone could silence another tenant's workers with false ones.

It knows nothing of threads. In the operator it has a thread to itself (`workers.thread`), so
everything passed in must be callable from there.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from plimsoll.api.resource import Resource
from plimsoll.api.training_job import TrainingJob
from plimsoll.errors import (
    ApiError,
    BadReport,
    NotLeader,
    TooManyRequests,
    TooOften,
    TooSlow,
    UnknownToken,
    WorkerRefused,
)
from plimsoll.kube.objects.objects import Pod
from plimsoll.kube.queues.budgets import Budgets
from plimsoll.kube.tokens.claims import Claims, PodIdentity, claims_of
from plimsoll.observe.views.ownership import named_job
from plimsoll.planning.training.checkpoint_interval import save_interval_seconds
from plimsoll.vocabulary import metrics
from plimsoll.workers.connections import Connections, ConnectionTerms, Guarded, address_of
from plimsoll.workers.instructions import instructions
from plimsoll.workers.membership import Worker, worker_of, worker_report
from plimsoll.workers.messages import MOST_BYTES, decoded, encode
from plimsoll.workers.noticeboard import Noticeboard
from plimsoll.workers.registry import Registry

LONGEST_WAIT_SECONDS: Final = 60.0
BODY_SECONDS: Final = 10.0
"""How long a report of a few kilobytes may take to arrive."""
_SCHEME: Final = "Bearer "
_LONGEST_LINE: Final = 1024
_MOST_HEADERS: Final = 64
_IDLE_SECONDS: Final = 75.0
"""How long a connection may be idle; workers report more often."""
_BACKLOG: Final = 512
_NOT_VALID: Final = "the token is not valid; read it anew from PLIMSOLL_TOKEN_FILE"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The endpoint's view of the rest of the operator: who leads, and what exists.

    `pod_of` returns the pod of a token, None if it is not valid, on behalf of an asker whose
    failures are counted, and raises ApiError; `pod` finds a pod by name and namespace, `resource` a
    custom resource by its uid. `interruptions_per_hour` is the rate per node of each pool, by name.
    `woken` is called when a report needs action at once.
    """

    leads: Callable[[], bool]
    pod_of: Callable[[str, Hashable], Awaitable[PodIdentity | None]]
    pod: Callable[[str, str], Pod | None]
    resource: Callable[[str], Resource | None]
    interruptions_per_hour: Callable[[], Mapping[str, Decimal]]
    woken: Callable[[], None]


class WorkerServer:
    """The HTTP server; port 0 takes any free one."""

    def __init__(
        self,
        around: Surroundings,
        registry: Registry,
        *,
        host: str = "",
        port: int = 8081,
        terms: ConnectionTerms | None = None,
    ) -> None:
        self._around, self._registry = around, registry
        self._host, self._port = host or None, port
        self._board = Noticeboard(self._notice_of)
        self._looking: asyncio.Task[object] | None = None
        self._connections = Connections(terms or ConnectionTerms.here())
        self._requests = Budgets[str](60, 5)
        self._listening: asyncio.Server | None = None
        app = web.Application(client_max_size=MOST_BYTES, middlewares=[self._counted])
        app.router.add_post("/v1/report", self._report)
        app.router.add_get("/v1/notice", self._notice)
        # Requests are not logged: they carry tokens.
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=0.5,
            keepalive_timeout=_IDLE_SECONDS,
            max_line_size=_LONGEST_LINE,
            max_headers=_MOST_HEADERS,
            auto_decompress=False,  # a few bytes could become gigabytes
            lingering_time=0,
        )

    async def start(self) -> int:
        """Start serving; return the port."""
        await self._runner.setup()
        serve = self._runner.server
        assert serve is not None  # noqa: S101 - there is one after setup
        self._listening = await asyncio.get_running_loop().create_server(
            lambda: Guarded(serve, self._connections), self._host, self._port, backlog=_BACKLOG
        )
        self._looking = asyncio.create_task(self._board.run())
        return int(self._listening.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop serving."""
        if self._looking is not None:
            self._looking.cancel()
        if self._listening is not None:
            self._listening.close()
        await self._runner.cleanup()

    async def _report(self, request: web.Request) -> web.Response:
        worker = await self._worker(request)
        report = worker_report(worker, decoded(await _body(request)), datetime.now(UTC))
        if self._registry.take(report):
            self._around.woken()
        return self._instructions_for(worker)

    async def _notice(self, request: web.Request) -> web.Response:
        seconds = _wait_seconds(request)
        worker = await self._worker(request)
        uid, known = worker.job.metadata.uid, request.query.get("known", "")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._board.differs(uid, known)
        return self._instructions_for(await self._worker(request))

    async def _worker(self, request: web.Request) -> Worker:
        """The worker that is asking. Raises NotLeader, WorkerRefused and ApiError."""
        token = _token(request)
        if not self._around.leads():
            raise NotLeader("this replica does not lead; try again on a new connection")
        claims = claims_of(token, datetime.now(UTC).timestamp())
        if claims is None:
            raise UnknownToken(_NOT_VALID)
        self._worker_in(claims.pod)
        identity = await self._proven(request, token, claims)
        if not self._requests.has_left(identity.uid):
            raise TooOften("this worker asks too often; wait as long as it was told to")
        self._requests.spend(identity.uid)
        return self._worker_in(identity)

    def _worker_in(self, identity: PodIdentity) -> Worker:
        """The worker in a pod, as far as it is known. Raises NoWorker."""
        pod = self._around.pod(identity.name, identity.namespace)
        uid = named_job(pod) if pod is not None else ""
        return worker_of(identity, pod, self._around.resource(uid))

    async def _proven(self, request: web.Request, token: str, claims: Claims) -> PodIdentity:
        """The pod of a token, confirmed by the API server. Raises UnknownToken, ApiError."""
        transport = _transport(request)
        identity = await self._around.pod_of(token, (address_of(transport), claims.pod))
        if identity is None or identity != claims.pod:
            raise UnknownToken(_NOT_VALID)
        self._connections.prove(transport, identity.uid)
        return identity

    def _instructions_for(self, worker: Worker) -> web.Response:
        said = self._registry.of(worker.pod_uid)
        given = instructions(
            worker,
            said.acknowledged if said else "",
            datetime.now(UTC),
            save_seconds=save_interval_seconds(worker.job, self._around.interruptions_per_hour()),
            report_seconds=self._registry.report_seconds,
        )
        return web.Response(body=encode(given), content_type="application/json")

    @web.middleware
    async def _counted(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Turn errors into responses, and count every response."""
        try:
            response = await handler(request)
        except WorkerRefused as error:
            self._connections.refused(_transport(request))
            response = _refusal(error.status, str(error))
        except NotLeader as error:
            response = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        except TooManyRequests as error:
            response = _refusal(HTTPStatus.TOO_MANY_REQUESTS, str(error))
        except ApiError:
            text = "the API server cannot be asked about the token now; try again"
            response = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, text)
        except web.HTTPException as error:
            self._connections.refused(_transport(request))
            response = _refusal(error.status, error.reason)
        metrics.WORKER_REQUESTS.labels(response.status).inc()
        return response

    def _notice_of(self, job_uid: str) -> str | None:
        if not self._around.leads():
            return None
        job = self._around.resource(job_uid)
        notice = job.status.notice if isinstance(job, TrainingJob) else None
        return notice.id if notice else ""


async def served(server: WorkerServer, started: Callable[[int], None]) -> None:
    """Serve until cancelled; `started` receives the port."""
    try:
        started(await server.start())
        await asyncio.Event().wait()
    finally:
        await server.stop()


def _refusal(status: int, text: str) -> web.Response:
    response = web.json_response({"error": text}, status=status)
    if status != HTTPStatus.BAD_REQUEST:
        # On a kept connection a client would ask the same replica again, or go on sending junk.
        response.force_close()
    return response


async def _body(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.read()
    except TimeoutError as error:
        raise TooSlow(f"the report did not come within {BODY_SECONDS:g} s") from error


def _transport(request: web.Request) -> asyncio.BaseTransport:
    if request.transport is None:
        raise asyncio.CancelledError  # the client has gone
    return request.transport


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
