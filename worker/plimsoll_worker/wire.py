"""What goes over the wire, and how: one HTTP request on a connection of its own each time.

The operator's replicas stand behind one address, and only one of them serves workers; a new
connection is what leads to another one. No proxy is used and no redirect is followed, for the
request carries a token.
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

_MOST_BYTES = 65_536


@dataclass(frozen=True)
class Place:
    """Which job this process works for, and how it reaches the operator."""

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
        """How long there still is, 0 at the least."""
        return max(0.0, self.ends - time.monotonic())


@dataclass(frozen=True)
class Instructions:
    """What the operator wants done; nothing while it was not heard of."""

    save: bool = False
    stop: bool = False
    notice: Notice | None = None
    checkpoint_interval_seconds: float | None = None
    report_interval_seconds: float = 15.0


@dataclass(frozen=True)
class Answer:
    """What came back: the HTTP status with the instructions, or else with what is wrong."""

    status: int
    instructions: Instructions | None = None
    error: str = ""


def exchange(
    place: Place, request: str, body: Mapping[str, object] | None = None, *, seconds: float
) -> Answer:
    """Ask the operator once: post the body, or get where there is none.

    Raises OSError, HTTPException and ValueError, the last for answers that are none.
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
    """What an answer says; what it leaves out is as if nothing had been said of it.

    Raises ValueError, TypeError, KeyError and AttributeError for what is none.
    """
    interval = said.get("checkpointIntervalSeconds")
    notice = said.get("notice")
    return Instructions(
        save=bool(said.get("save")),
        stop=bool(said.get("stop")),
        notice=None if notice is None else _notice(notice),
        checkpoint_interval_seconds=None if interval is None else float(interval),
        report_interval_seconds=max(1.0, float(said.get("reportIntervalSeconds", 15.0))),
    )


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
