"""Who has written how often to the API server, by its audit log."""

import json
import time
from collections import Counter
from pathlib import Path

from plimsoll_devcluster.api_server import USER_AGENT
from plimsoll_devcluster.waiting import wait_until

BENCH = "bench"
QUIET_SECONDS = 3.0
QUIET_BYTES = 10_000
"""About ten writes."""
PATIENCE_SECONDS = 300


class WriteCounter:
    """The writes since it was made, refused ones included: they are answered too."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._since = log.stat().st_size

    def wait_until_quiet(self) -> None:
        """Wait until next to nothing is written any more."""
        counted = [(time.monotonic(), self._log.stat().st_size)]

        def is_quiet() -> bool:
            now, size = time.monotonic(), self._log.stat().st_size
            since, then = counted[-1]
            if size - then > QUIET_BYTES:
                counted.append((now, size))
            return now - since >= QUIET_SECONDS and size - then <= QUIET_BYTES

        wait_until(is_quiet, timeout_seconds=PATIENCE_SECONDS, what="nobody writes any more")

    def count(self) -> Counter[tuple[str, str]]:
        """How often each writer has written each resource."""
        found: Counter[tuple[str, str]] = Counter()
        with self._log.open("rb") as log:
            log.seek(self._since)
            for line in log:
                if line.endswith(b"\n"):  # Otherwise it is just being written.
                    event = json.loads(line)
                    found[writer(event.get("userAgent", "")), _resource(event)] += 1
        return found


def writer(user_agent: str) -> str:
    """Which program writes."""
    return BENCH if user_agent == USER_AGENT else user_agent.partition("/")[0]


def _resource(event: dict[str, dict[str, str]]) -> str:
    about = event.get("objectRef", {})
    parts = (about.get("resource", "none"), about.get("subresource", ""))
    return "/".join(filter(None, parts))
