import gzip
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll.errors import (
    PrometheusError,
    PrometheusRefused,
    PrometheusUnavailable,
    PrometheusUnusable,
)
from plimsoll.observe.measured.sample import Query
from plimsoll.signals.prometheus.connection import Connection, ConnectionTerms
from support.servers.misbehaving_prometheus import Behaviour, misbehaving_prometheus

QUERY = Query("test", "up == 1")


@pytest.fixture
def behaviour() -> Iterator[Behaviour]:
    with misbehaving_prometheus() as behaviour:
        yield behaviour


def failure(terms: ConnectionTerms) -> PrometheusError:
    with pytest.raises(PrometheusError) as caught:
        Connection(terms).now(QUERY)
    return caught.value


def test_a_query_is_asked_and_its_result_returned(behaviour: Behaviour) -> None:
    assert Connection(ConnectionTerms(behaviour.url)).now(QUERY) == []
    assert behaviour.paths == ["/api/v1/query?query=up+%3D%3D+1&timeout=10s"]
    assert behaviour.authorizations == [None]


def test_a_token_is_read_for_each_query(behaviour: Behaviour, tmp_path: Path) -> None:
    token = tmp_path / "token"
    connection = Connection(ConnectionTerms(behaviour.url, token_file=str(token)))
    for content in ("one\n", "two"):
        token.write_text(content)
        connection.now(QUERY)
    assert behaviour.authorizations == ["Bearer one", "Bearer two"]


def test_a_user_name_and_a_password_are_read_from_their_files(
    behaviour: Behaviour, tmp_path: Path
) -> None:
    for name in ("user", "password"):
        (tmp_path / name).write_text(f"{name}\n")
    files = (f"{tmp_path}/user", f"{tmp_path}/password")
    Connection(ConnectionTerms(behaviour.url, username_file=files[0], password_file=files[1])).now(
        QUERY
    )
    assert behaviour.authorizations == ["Basic dXNlcjpwYXNzd29yZA=="]


def test_without_the_token_nothing_is_asked(behaviour: Behaviour) -> None:
    error = failure(ConnectionTerms(behaviour.url, token_file="/nowhere/token"))
    assert isinstance(error, PrometheusRefused)
    assert "/nowhere/token" in str(error)
    assert behaviour.paths == []


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, PrometheusRefused, "token or the password"),
        (403, PrometheusRefused, "token or the password"),
        (400, PrometheusRefused, "parse error at char 3"),
        (302, PrometheusRefused, "https://login.example"),
        (429, PrometheusUnavailable, "HTTP 429"),
        (500, PrometheusUnavailable, "HTTP 500"),
        (503, PrometheusUnavailable, "parse error at char 3"),
    ],
)
def test_an_answer_that_is_none_says_what_is_wrong(
    behaviour: Behaviour, status: int, kind: type[PrometheusError], words: str
) -> None:
    behaviour.status, behaviour.headers = status, {"Location": "https://login.example/?to=here"}
    behaviour.body = b'{"status": "error", "error": "parse error at char 3"}'
    error = failure(ConnectionTerms(behaviour.url))
    assert isinstance(error, kind)
    assert words in str(error)
    assert len(behaviour.paths) == 1


@pytest.mark.parametrize(
    "body", [b"<html>please log in</html>", b"", b"{}", b"[]", b'{"data": {}}', b"\xff\xfe\x00"]
)
def test_an_answer_of_something_else_is_unusable(behaviour: Behaviour, body: bytes) -> None:
    behaviour.body = body
    assert isinstance(failure(ConnectionTerms(behaviour.url)), PrometheusUnusable)


def test_an_answer_without_end_is_broken_off(behaviour: Behaviour) -> None:
    behaviour.body, behaviour.endless = b"x" * 10_000, True
    error = failure(ConnectionTerms(behaviour.url, most_bytes=100_000))
    assert isinstance(error, PrometheusUnusable)
    assert "larger than 100000 B" in str(error)


def test_an_answer_is_measured_as_it_is_unpacked(behaviour: Behaviour) -> None:
    behaviour.body, behaviour.headers = (
        gzip.compress(b" " * 10_000_000),
        {"Content-Encoding": "gzip"},
    )
    assert isinstance(
        failure(ConnectionTerms(behaviour.url, most_bytes=1_000_000)), PrometheusUnusable
    )


def test_an_answer_that_does_not_end_in_time_is_given_up(behaviour: Behaviour) -> None:
    behaviour.body, behaviour.endless = b" ", True
    error = failure(ConnectionTerms(behaviour.url, timeout_seconds=0.3))
    assert (type(error), str(error)) == (PrometheusUnavailable, "no answer within 0.3 s")


def test_silence_is_given_up(behaviour: Behaviour) -> None:
    behaviour.silent = threading.Event()
    error = failure(ConnectionTerms(behaviour.url, timeout_seconds=0.2))
    assert (type(error), str(error)) == (PrometheusUnavailable, "no answer within 0.2 s")


def test_a_prometheus_that_is_not_there_is_unavailable() -> None:
    error = failure(ConnectionTerms("http://127.0.0.1:1"))
    assert isinstance(error, PrometheusUnavailable)
    assert "refused" in str(error)
    assert "query" not in str(error)


def test_a_ca_that_cannot_be_read_is_named() -> None:
    error = failure(ConnectionTerms("https://127.0.0.1:1", ca_file="/nowhere/ca.crt"))
    assert isinstance(error, PrometheusUnavailable)
    assert "invalid path: /nowhere/ca.crt" in str(error)
