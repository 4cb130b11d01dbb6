"""The gate that crash tests put before an API server counts rightly, whoever is killed when."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from aiohttp import web

from plimsoll_devcluster.proxies.passing_on import address_of, in_a_thread, never, served
from plimsoll_devcluster.waiting import wait_until
from support.servers.write_gate import WriteGate, write_gate

SECONDS = 10


class Server:
    """A server that never answers the first write, and all others at once."""

    def __init__(self) -> None:
        self.asked = 0

    async def handle(self, _: web.Request) -> web.StreamResponse:
        self.asked += 1
        if self.asked == 1:
            await never()
        return web.json_response({})


@pytest.fixture
def gated(tmp_path: Path) -> Iterator[tuple[Server, WriteGate, str]]:
    """A server, the gate before it, and the address of the gate."""
    server = Server()
    with ExitStack() as stack:
        runner = stack.enter_context(in_a_thread(served(server.handle)))
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(config_to(address_of(runner))))
        gate, through = stack.enter_context(write_gate(kubeconfig, tmp_path))
        way = str(yaml.safe_load(through.read_text())["clusters"][0]["cluster"]["server"])
        yield server, gate, urlsplit(way).netloc


def config_to(address: str) -> dict[str, object]:
    return {
        "clusters": [{"name": "slow", "cluster": {"server": address}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "slow", "context": {"cluster": "slow", "user": "nobody"}}],
        "current-context": "slow",
    }


@contextmanager
def writing(gate: str) -> Generator[HTTPConnection]:
    """What writes something, and is killed afterwards."""
    connection = HTTPConnection(gate, timeout=SECONDS)
    connection.request("PUT", "/api/v1/namespaces/a/pods/p", b"{}")
    yield connection
    connection.close()


def test_who_is_killed_before_the_answer_has_used_up_one_write_and_none_of_the_next_life(
    gated: tuple[Server, WriteGate, str],
) -> None:
    server, gate, address = gated
    gate.allow(1)
    with writing(address):
        wait_until(lambda: server.asked, timeout_seconds=SECONDS, what="it is being carried out")
    gate.allow(1)
    with writing(address) as passed:
        assert passed.getresponse().status == 200
    with writing(address):
        wait_until(lambda: gate.is_spent, timeout_seconds=SECONDS, what="another one is held back")
    assert server.asked == len(gate.written) == 2
