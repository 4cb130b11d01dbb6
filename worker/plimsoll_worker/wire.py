"""The wire protocol: one HTTP request at a time, each on a new connection.

The operator's replicas share one address, and only one of them serves workers; a new connection may
reach another one. No proxy is used and no redirect is followed, because the request carries a
token.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from plimsoll_worker.batch import Batch

_MOST_BYTES = 65_536


@dataclass(frozen=True)
class Place:
    """The job that this process works for, and how to reach the operator."""

    job: str
    url: str
    token_file: str


@dataclass(frozen=True)
class Notice:
    """Why and by when this worker will be stopped; `ends` is on the clock `time.monotonic`."""

    id: str
    reason: str
    message: str
    ends: float

    @property
    def seconds_left(self) -> float:
        """The time left, at least 0."""
        return max(0.0, self.ends - time.monotonic())


@dataclass(frozen=True)
class Instructions:
    """What the operator wants done; nothing until it responds."""

    save: bool = False
    stop: bool = False
    notice: Notice | None = None
    checkpoint_interval_seconds: float | None = None
    report_interval_seconds: float = 15.0
    batch: Batch | None = None


@dataclass(frozen=True)
class Answer:
    """A response: the HTTP status with the instructions, or with what is wrong."""

    status: int
    instructions: Instructions | None = None
    error: str = ""


def exchange(
    place: Place, request: str, body: Mapping[str, object] | None = None, *, seconds: float
) -> Answer:
    """Send one request to the operator: post the body, or get without one.

    Raises OSError, HTTPException and ValueError, the last for invalid responses.
    """
    connection = _connection(place.url, seconds)
    token = Path(place.token_file).read_text(encoding="ascii").strip()
    headers = {"Authorization": f"Bearer {token}", "Connection": "close"}
    try:
        connection.request(
            "GET" if body is None else "POST",
            urlsplit(place.url).path.rstrip("/") + request,
            body=None if body is None else json.dumps(body, allow_nan=False),
            headers=headers,
        )
        response = connection.getresponse()
        content = response.read(_MOST_BYTES)
    finally:
        connection.close()
    if response.status != http.client.OK:
        return Answer(response.status, error=content[:500].decode(errors="replace"))
    return Answer(response.status, instructions(json.loads(content)))


def instructions(said: Mapping[str, Any]) -> Instructions:
    """The instructions in a response; missing fields get their defaults.

    Raises ValueError, TypeError, KeyError and AttributeError for an invalid one.
    """
    interval = said.get("checkpointIntervalSeconds")
    notice, batch = said.get("notice"), said.get("batch")
    return Instructions(
        save=bool(said.get("save")),
        stop=bool(said.get("stop")),
        notice=None if notice is None else _notice(notice),
        checkpoint_interval_seconds=None if interval is None else float(interval),
        report_interval_seconds=max(1.0, float(said.get("reportIntervalSeconds", 15.0))),
        batch=None if batch is None else _batch(batch),
    )


def _batch(said: Mapping[str, Any]) -> Batch:
    batch = Batch(int(said["local"]), int(said["accumulation"]), int(said["size"]))
    if min(batch.local, batch.accumulation) < 1:
        raise ValueError(f"no batch: {said}")
    return batch


def _notice(said: Mapping[str, Any]) -> Notice:
    left = float(said.get("secondsLeft", 0.0))
    return Notice(
        id=str(said["id"]),
        reason=str(said.get("reason", "")),
        message=str(said.get("message", "")),
        ends=time.monotonic() + left,
    )


def _connection(url: str, seconds: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    if parts.hostname is None:
        raise ValueError(f"PLIMSOLL_WORKER_URL is no address: {url!r}")
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=seconds, context=context
        )
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=seconds)
