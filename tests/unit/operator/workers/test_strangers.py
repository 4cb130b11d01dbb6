"""What somebody who is no worker can do to the workers' endpoint: be refused, and soon be gone."""

import asyncio
import http.client
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3
from prometheus_client import REGISTRY

from plimsoll.kube.tokens.claims import PodIdentity
from plimsoll.workers.connections import ConnectionTerms
from plimsoll_devcluster.waiting import wait_until
from support.clusters.seen import NAMESPACE, at
from support.objects.job_manifests import a_training_job
from support.servers.worker_endpoint import WorkerEndpoint, a_token

HTTP = urllib3.PoolManager(retries=False, timeout=30)
JOB = at(a_training_job("train", workers=2), "n-0", "n-0")
SECONDS = 20
TERMS = ConnectionTerms(
    most=64,
    strangers=16,
    strangers_of_an_address=8,
    of_a_pod=3,
    stranger_seconds=1.0,
    refusals_at_once=10_000,
    refusals_per_second=1_000,
)


@pytest.fixture
def endpoint() -> Iterator[WorkerEndpoint]:
    with WorkerEndpoint(JOB, TERMS).served() as served:
        yield served


def report(endpoint: WorkerEndpoint, token: str = "", **headers: str) -> int:
    bearer = token or endpoint.token()
    answer = HTTP.request(
        "POST",
        f"{endpoint.url}/v1/report",
        json={"job": "train", "done": 1},
        headers={"Authorization": f"Bearer {bearer}", **headers},
    )
    return answer.status


def a_connection(endpoint: WorkerEndpoint, *, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(
        ("127.0.0.1", endpoint.port), timeout=30, source_address=(source, 0)
    )


def is_closed(connection: socket.socket) -> bool:
    """Whether the other end has closed it; waits for something to come."""
    try:
        return connection.recv(1 << 16) == b""
    except ConnectionError:
        return True


def refused(cause: str) -> float:
    labels = {"cause": cause}
    name = "plimsoll_worker_connections_refused_total"
    return REGISTRY.get_sample_value(name, labels) or 0.0


def bound_to(what: dict[str, Any]) -> str:
    claims: dict[str, Any] = {"kubernetes.io": what}
    return a_token("train-worker-0", **claims)


ANOTHER = {"namespace": NAMESPACE, "pod": {"name": "train-worker-0", "uid": "another"}}
HEAD = "GET /v1/notice HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
JUNK = {
    "a word": "junk",
    "for another": a_token("train-worker-0", aud=["vault"]),
    "over": a_token("train-worker-0", exp=1_000_000_000),
    "of a user": a_token("train-worker-0", sub="somebody"),
    "bound to nothing": bound_to({}),
    "of a pod that is not there": a_token("train-worker-9"),
    "of another pod of that name": bound_to(ANOTHER),
}


@pytest.mark.parametrize("token", JUNK.values(), ids=JUNK.keys())
def test_a_token_that_cannot_be_good_is_refused_without_a_question(
    endpoint: WorkerEndpoint, token: str
) -> None:
    assert report(endpoint, token) in (401, 403)
    assert endpoint.reviews == []


def test_a_forged_token_of_a_worker_is_refused_when_the_api_server_was_asked(
    endpoint: WorkerEndpoint,
) -> None:
    forged = a_token("train-worker-0", sign="forged")
    assert report(endpoint, forged) == 401
    assert endpoint.reviews == [forged]
    assert endpoint.said() is None


@pytest.mark.slow
def test_a_connection_on_which_headers_come_byte_by_byte_is_closed_in_time(
    endpoint: WorkerEndpoint,
) -> None:
    before = refused("Too slow")
    with a_connection(endpoint) as slow:
        slow.sendall(b"POST /v1/report HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ")
        begun = time.monotonic()
        try:
            while time.monotonic() - begun < SECONDS:
                slow.sendall(b"a")
                slow.settimeout(0.1)
                try:
                    if slow.recv(1) == b"":
                        break
                except TimeoutError:
                    continue
        except ConnectionError:
            pass
        assert TERMS.stranger_seconds * 0.9 < time.monotonic() - begun < SECONDS
    assert refused("Too slow") == before + 1


@pytest.mark.slow
def test_a_connection_on_which_nothing_comes_is_closed_in_time(endpoint: WorkerEndpoint) -> None:
    with a_connection(endpoint) as silent:
        assert is_closed(silent)


@pytest.mark.slow
def test_a_worker_keeps_its_connection_for_longer_than_a_stranger(endpoint: WorkerEndpoint) -> None:
    kept = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=30)
    headers = {"Authorization": f"Bearer {endpoint.token()}"}
    kept.request("GET", "/v1/notice", headers=headers)
    assert kept.getresponse().read()
    first = kept.sock
    with a_connection(endpoint) as silent:
        assert is_closed(silent), "as long as a stranger may stay"
    kept.request("GET", "/v1/notice", headers=headers)
    assert kept.getresponse().status == 200
    assert kept.sock is first
    kept.close()


def test_an_address_has_a_few_strangers_and_leaves_room_for_others(
    endpoint: WorkerEndpoint,
) -> None:
    mine = [a_connection(endpoint, source="127.0.0.2") for _ in range(8)]
    with a_connection(endpoint, source="127.0.0.2") as too_many:
        too_many.settimeout(TERMS.stranger_seconds / 2)
        assert is_closed(too_many)
    assert report(endpoint) == 200
    for each in mine:
        each.close()


def test_strangers_that_are_gone_leave_their_room(endpoint: WorkerEndpoint) -> None:
    for _ in range(3):
        mine = [a_connection(endpoint, source="127.0.0.2") for _ in range(8)]
        for each in mine:
            each.close()
        wait_until(
            lambda: report_from(endpoint, "127.0.0.2") == 200,
            timeout_seconds=SECONDS,
            what="one more is let in",
        )


def report_from(endpoint: WorkerEndpoint, source: str) -> int:
    """The status of the answer; 0 where the connection was closed unheard."""
    asking = http.client.HTTPConnection(
        "127.0.0.1", endpoint.port, timeout=30, source_address=(source, 0)
    )
    try:
        asking.request("GET", "/v1/notice", headers={"Authorization": f"Bearer {endpoint.token()}"})
        return asking.getresponse().status
    except (ConnectionError, http.client.HTTPException):
        return 0
    finally:
        asking.close()


def test_a_worker_has_a_few_connections(endpoint: WorkerEndpoint) -> None:
    kept: list[http.client.HTTPConnection] = []
    statuses: list[int] = []
    for _ in range(4):
        one = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=30)
        one.request("GET", "/v1/notice", headers={"Authorization": f"Bearer {endpoint.token()}"})
        statuses.append(one.getresponse().status)
        kept.append(one)
    assert statuses == [200, 200, 200, 429]
    assert report(endpoint, endpoint.token(1)) == 200, "others have theirs"
    for one in kept:
        one.close()


def test_a_worker_that_asks_without_a_pause_is_told_to_wait(endpoint: WorkerEndpoint) -> None:
    statuses = [report(endpoint) for _ in range(100)]
    assert statuses[:60] == [200] * 60
    assert 429 in statuses
    assert report(endpoint, endpoint.token(1)) == 200, "others need not"


def test_an_address_that_is_refused_without_end_is_not_heard_any_more() -> None:
    terms = ConnectionTerms(most=64, refusals_at_once=20, refusals_per_second=0.01)
    with WorkerEndpoint(JOB, terms).served() as endpoint:
        before = refused("Refused too often")
        for _ in range(20):
            assert report_junk(endpoint, "127.0.0.2") == 401
        assert report_junk(endpoint, "127.0.0.2") == 0
        assert refused("Refused too often") == before + 1
        assert report(endpoint) == 200, "others are"


def report_junk(endpoint: WorkerEndpoint, source: str) -> int:
    asking = http.client.HTTPConnection(
        "127.0.0.1", endpoint.port, timeout=30, source_address=(source, 0)
    )
    try:
        asking.request("GET", "/v1/notice", headers={"Authorization": "Bearer junk"})
        return asking.getresponse().status
    except (ConnectionError, http.client.HTTPException):
        return 0
    finally:
        asking.close()


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /v1/notice HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET /v1/notice HTTP/1.1\r\n" + b"X: a\r\n" * 10_000 + b"\r\n",
        b"\x16\x03\x01\x02\x00" * 100,
        b"GET /v1/notice HTTP/9.9\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\n\r\n",
    ],
    ids=["a long line", "a long header", "many headers", "TLS", "no version", "a proxy"],
)
def test_what_is_no_request_of_a_worker_is_answered_with_a_no(
    endpoint: WorkerEndpoint, request_: bytes
) -> None:
    with a_connection(endpoint) as odd:
        try:
            odd.sendall(request_)
            answer = odd.recv(1 << 16)
        except ConnectionError:
            answer = b""
        assert answer == b"" or answer.split()[1].startswith(b"4")
    assert report(endpoint) == 200


def test_a_body_that_is_packed_is_not_unpacked(endpoint: WorkerEndpoint) -> None:
    assert report(endpoint, **{"Content-Encoding": "gzip"}) == 200, "it is read as it came"


@pytest.mark.slow
def test_junk_by_the_thousand_reaches_nobody_and_keep_no_worker_from_being_heard(
    endpoint: WorkerEndpoint,
) -> None:
    async def flood() -> list[int]:
        async def one(number: int) -> int:
            async with at_a_time:
                reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
                token = a_token(f"nobody-{number}", sign="x" * 300)
                writer.write(f"{HEAD}{token}\r\n\r\n".encode())
                try:
                    return int((await reader.read(12)).split()[1])
                except (ConnectionError, IndexError):
                    return 0
                finally:
                    writer.close()

        at_a_time = asyncio.Semaphore(4)
        return await asyncio.gather(*(one(number) for number in range(2_000)))

    statuses = asyncio.run(flood())
    assert set(statuses) <= {401, 403, 0}
    assert endpoint.reviews == []
    assert report(endpoint) == 200


def test_a_token_that_speaks_for_another_pod_than_it_claims_is_refused() -> None:
    class Odd(WorkerEndpoint):
        """Its API server says something else than the token does."""

        async def _pod_of(self, token: str, _asker: object) -> PodIdentity | None:
            self.reviews.append(token)
            return PodIdentity(NAMESPACE, "train-worker-1", "uid-Pod-train-worker-1")

    with Odd(JOB).served() as endpoint:
        assert report(endpoint) == 401
        assert endpoint.said(0) is None
        assert endpoint.said(1) is None
