"""What the agent knows of its Node, however answers and events overtake one another."""

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import certifi
import pytest

from plimsoll_agent.api_server import ApiServer
from plimsoll_agent.node import Node
from plimsoll_agent.report import WANTED, Report

SECONDS = 10.0


def a_node(version: int, annotations: Mapping[str, str]) -> dict[str, object]:
    return {"metadata": {"resourceVersion": str(version), "annotations": annotations}}


class SlowToAnswer(ThreadingHTTPServer):
    """Tells of a later version by the watch before it answers a write with an earlier one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.written, self.heard, self.over = (threading.Event() for _ in range(3))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if "watch=true" not in self.path:
            listed = {"metadata": {"resourceVersion": "1"}, "items": [a_node(1, {})]}
            self._answer(listed)
            return
        asked = self._asked()
        asked.written.wait(SECONDS)
        event = {"type": "MODIFIED", "object": a_node(3, {WANTED: "300"})}
        line = json.dumps(event).encode() + b"\n"
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()
        asked.over.wait(SECONDS)
        self.wfile.write(b"0\r\n\r\n")

    def do_PATCH(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._asked().written.set()
        self._asked().heard.wait(SECONDS)
        self._answer(a_node(2, {}))

    def _asked(self) -> SlowToAnswer:
        assert isinstance(self.server, SlowToAnswer)
        return self.server

    def _answer(self, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[SlowToAnswer]:
    with SlowToAnswer() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.over.set()
        made.shutdown()
        thread.join()


def test_the_answer_to_a_write_does_not_hide_what_was_wanted_meanwhile(
    server: SlowToAnswer, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("a token")
    url = f"http://127.0.0.1:{server.server_port}"
    listed, calls = threading.Event(), list[None]()

    def changed() -> None:
        calls.append(None)
        (listed if len(calls) == 1 else server.heard).set()

    node = Node(ApiServer(url, token_file=token, ca_file=Path(certifi.where())), "node", changed)
    following = threading.Thread(target=node.follow)
    following.start()
    assert listed.wait(SECONDS)
    node.write(Report("700,700", None))
    assert node.annotations == {WANTED: "300"}
    server.over.set()
    following.join(SECONDS)
