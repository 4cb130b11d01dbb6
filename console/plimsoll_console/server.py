"""The console's HTTP server: the page, the API, probes and metrics, on one port."""

import ssl
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web
from prometheus_client import REGISTRY

from plimsoll.kube.probe_server import Probe, add_probes
from plimsoll.supervision import count_unforeseen
from plimsoll_console.cluster.feed import Feed
from plimsoll_console.errors import AskRefused, NothingThere
from plimsoll_console.messages.who import Me
from plimsoll_console.metrics import OwnMetrics
from plimsoll_console.serving import responses
from plimsoll_console.serving.asker import Asker, Askers, token_of
from plimsoll_console.serving.events import Stream, Viewers, follow, views_of
from plimsoll_console.serving.files import INDEX, page_files
from plimsoll_console.serving.shown import Shown
from plimsoll_console.settings import Settings

API: Final = "/api/v1"
MOST_BODY_BYTES: Final = 64 * 1024
_LONGEST_FIELD: Final = 32 * 1024
_IDLE_SECONDS: Final = 75.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ConsoleServer:
    """Serves until stopped; port 0 takes any free one."""

    def __init__(self, settings: Settings, feed: Feed, askers: Askers, shown: Shown) -> None:
        self._settings, self._feed, self._askers, self._shown = settings, feed, askers, shown
        self._viewers = Viewers(settings.most_viewers)
        self._files = page_files()
        self.app = web.Application(client_max_size=MOST_BODY_BYTES, middlewares=[self._guarded])
        self.app.on_response_prepare.append(_say_how)
        self.app.router.add_get(f"{API}/me", self._me)
        self.app.router.add_get(f"{API}/events", self._events)
        # Requests are not logged: they carry tokens.
        self._runner: web.AppRunner | None = None

    def add_probes(self, *, alive: Probe, ready: Probe) -> None:
        """Serve probes and metrics too."""
        add_probes(self.app, alive=alive, ready=ready, metrics=OwnMetrics(REGISTRY))

    def answer(
        self, path: str, handler: Callable[[Asker, web.Request], Awaitable[web.Response]]
    ) -> None:
        """Answer POST requests for a path of the API, once it is known who asks."""

        async def asked(request: web.Request) -> web.Response:
            return await handler(await self._asker(request), request)

        self.app.router.add_post(f"{API}/{path}", asked)

    def show(
        self, path: str, handler: Callable[[Asker, web.Request], Awaitable[web.Response]]
    ) -> None:
        """Answer GET requests for a path of the API that is no view, likewise."""

        async def shown(request: web.Request) -> web.Response:
            return await handler(await self._asker(request), request)

        self.app.router.add_get(f"{API}/{path}", shown)

    async def start(self) -> int:
        """Start serving; return the port."""
        self.app.router.add_get(f"{API}/{{path:.+}}", self._view)
        self.app.router.add_get("/{path:.*}", self._file)
        runner = self._runner = web.AppRunner(
            self.app,
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=0.5,
            keepalive_timeout=_IDLE_SECONDS,
            max_field_size=_LONGEST_FIELD,
            auto_decompress=False,  # a few bytes could become gigabytes
        )
        await runner.setup()
        host = self._settings.host or None
        await web.TCPSite(runner, host, self._settings.port, ssl_context=self._tls()).start()
        return int(runner.addresses[0][1])

    async def stop(self) -> None:
        """Stop serving."""
        if self._runner is not None:
            await self._runner.cleanup()

    def _tls(self) -> ssl.SSLContext | None:
        if not self._settings.tls_cert_file:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._settings.tls_cert_file, self._settings.tls_key_file)
        return context

    async def _asker(self, request: web.Request) -> Asker:
        return await self._askers.asker(token_of(request), request.remote)

    async def _me(self, request: web.Request) -> web.Response:
        asker = await self._asker(request)
        rights = asker.rights
        said = Me(
            user=asker.user.name,
            groups=asker.user.groups,
            all_jobs=rights.all_jobs,
            namespaces=rights.namespaces,
            nodes=rights.nodes,
            queues=rights.queues,
            pools=rights.pools,
            power_domains=rights.power_domains,
            policy=rights.policy,
        )
        return responses.of_message(said)

    async def _view(self, request: web.Request) -> web.Response:
        asker, path = await self._asker(request), request.match_info["path"]
        await self._askers.require(asker, path)
        found = await self._shown.of(path, asker.seen, asker.rights)
        if found is None:
            raise NothingThere(f"there is no {path}, or you may not see it")
        return responses.of_encoded(request, found)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        token, views = token_of(request), views_of(request)
        asker = await self._askers.asker(token, request.remote)
        stream = Stream(self._askers, self._shown, self._feed, views, token)
        with self._viewers.one_more(asker.user.name):
            return await follow(request, stream.events(asker, request.remote))

    async def _file(self, request: web.Request) -> web.Response:
        found = self._files.get(request.match_info["path"] or INDEX)
        if found is None:
            raise NothingThere("there is nothing here")
        return responses.of_file(request, found)

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Turn errors into responses, and say how each may be used."""
        try:
            response = await handler(request)
        except AskRefused as error:
            response = responses.of_refusal(error)
        except web.HTTPException as error:
            response = responses.of_problems((error.reason,), error.status)
        except Exception as error:  # noqa: BLE001 - around one request: others are answered
            count_unforeseen("request", error, path=request.path)
            text = "the answer could not be made: the console's log says why"
            response = responses.of_problems((text,), HTTPStatus.INTERNAL_SERVER_ERROR)
        return response


async def _say_how(_request: web.Request, response: web.StreamResponse) -> None:
    """Add to each response how it may be used."""
    response.headers.update(responses.SECURITY)
    response.headers.pop(hdrs.SERVER, None)
