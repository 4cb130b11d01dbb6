"""`plimsoll ui`: the console's page through the API server, with the user's own token."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web

from plimsoll.cli.console.opening import leading_to
from plimsoll.cli.console.reaching import RIGHTS
from plimsoll_devcluster.processes.credentials import kubeconfig, write_secret
from plimsoll_devcluster.proxies.passing_on import address_of, served
from plimsoll_devcluster.waiting import PATIENCE
from support.programs.asynchronous import asynchronous
from support.servers.forwarding_server import TOKEN, ForwardingServer

MAIN = "import sys; from plimsoll.cli import main; sys.exit(main())"
SECONDS = 60 * PATIENCE


@asynccontextmanager
async def a_page() -> AsyncGenerator[int]:
    """Something that answers like a page, long enough to come in many frames; its port."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text=f"{request.method} {await request.text()} " * 10_000)

    async with served(answer) as runner:
        yield urlsplit(address_of(runner)).port or 0


@asynccontextmanager
async def ui(
    folder: Path, server: str, *options: str, token: str = TOKEN
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The command, run for a user of that server, until the block ends."""
    text = kubeconfig(server=server, certificate=None, token=token)
    config = write_secret(folder / "kubeconfig", text)
    arguments = ("ui", "--kubeconfig", str(config), *options)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", MAIN, *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.slow
@asynchronous
async def test_the_page_is_reached_through_the_api_server(tmp_path: Path) -> None:
    async with a_page() as port:
        pods = ForwardingServer(port)
        async with (
            pods.running() as server,
            ui(tmp_path, server.server, "--no-browser", "-n", "home") as process,
            asyncio.timeout(SECONDS),
        ):
            assert process.stdout is not None
            address = urlsplit((await process.stdout.readline()).decode().strip())
            assert address.fragment == f"token={TOKEN}"
            async with aiohttp.ClientSession() as browser:
                url = f"http://{address.netloc}/"
                for number in range(3):
                    said = await browser.post(url, data=f"{number}" * 5_000)
                    assert await said.text() == f"POST {f'{number}' * 5_000} " * 10_000
    assert pods.asked[0].startswith("/api/v1/namespaces/home/pods?")
    assert "labelSelector=app.kubernetes.io" in pods.asked[0]


@pytest.mark.slow
@asynchronous
async def test_where_there_is_no_console_it_is_said_how_to_get_one(tmp_path: Path) -> None:
    pods = ForwardingServer(1)
    pods.gone = True
    async with (
        pods.running() as server,
        ui(tmp_path, server.server, "--no-browser") as process,
        asyncio.timeout(SECONDS),
    ):
        _, said = await process.communicate()
    assert process.returncode == 1
    assert "there is no console in the cluster that is ready: install it" in said.decode()


@pytest.mark.parametrize("path", ["/pods", "/portforward"])
@asynchronous
async def test_the_rights_that_are_needed_are_named(tmp_path: Path, path: str) -> None:
    pods = ForwardingServer(1)
    pods.forbidden = (path,)
    async with (
        pods.running() as server,
        ui(tmp_path, server.server, "--no-browser", "-n", "home") as process,
        asyncio.timeout(SECONDS),
    ):
        _, said = await process.communicate()
    assert process.returncode == 3
    assert said.decode().endswith(f": get permission to {RIGHTS}\n")


@pytest.mark.slow
@asynchronous
async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    async with a_page() as port:
        pods = ForwardingServer(port)
        async with (
            pods.running() as server,
            ui(tmp_path, server.server, "--port", str(port)) as process,
            asyncio.timeout(SECONDS),
        ):
            _, said = await process.communicate()
    assert process.returncode == 2
    assert f"--port {port}: cannot be listened on" in said.decode()


def test_nobody_else_can_read_the_token(tmp_path: Path) -> None:
    page = leading_to("http://127.0.0.1:1/#token=a<b", tmp_path)
    assert page.stat().st_mode & 0o777 == 0o600
    assert "http://127.0.0.1:1/#token=a&lt;b" in page.read_text()


@pytest.mark.slow
@asynchronous
async def test_without_a_token_it_is_said_how_to_get_one(tmp_path: Path) -> None:
    async with a_page() as port:
        pods = ForwardingServer(port)
        async with (
            pods.running() as server,
            ui(tmp_path, server.server, "--no-browser", token="") as process,
            asyncio.timeout(SECONDS),
        ):
            assert process.stdout is not None
            assert process.stderr is not None
            address = (await process.stdout.readline()).decode().strip()
            said = (await process.stderr.readline()).decode()
    assert "#" not in address
    assert "has no token" in said
