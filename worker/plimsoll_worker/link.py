"""The connection to the operator: two threads, one that reports and one that listens.

Anything that fails there is retried, with growing pauses, and never reaches the program. Both are
daemons: a program ends without waiting for them.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Mapping
from typing import Callable

from plimsoll_worker.wire import Answer, Instructions, Place, exchange

ANSWER_SECONDS = 10.0
LISTEN_SECONDS = 50.0
"""How long one request for a notice stays open before it is repeated."""
CLOSE_SECONDS = 3.0
"""How long the last report may take, with all attempts."""
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
_NOT_LEADING = 503
_TRIES_AT_ONCE = 8
"""How often another replica is tried before a pause.

With two replicas, the wrong one comes up every time in one case of 256.
"""
_log = logging.getLogger("plimsoll_worker")

Report = Callable[[Instructions], Mapping[str, object]]
"""The current report, given the operator's last instructions."""


class Link:
    """Sends `report` whenever woken, and at intervals; keeps the instructions received."""

    def __init__(self, place: Place, report: Report) -> None:
        self._place, self._report = place, report
        self._heard = Instructions()
        self._turn = threading.Condition()
        self._wanted, self._closing = True, False
        self._until = 0.0
        self._is_silent = False
        self._threads = [
            threading.Thread(target=work, name=f"plimsoll-{name}", daemon=True)
            for name, work in (("reports", self._reporting), ("notices", self._listening))
        ]

    @property
    def heard(self) -> Instructions:
        """The operator's last instructions."""
        return self._heard

    def open(self) -> None:
        """Start talking."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """There is something new to report."""
        with self._turn:
            self._wanted = True
            self._turn.notify_all()

    def close(self) -> None:
        """Send the last report, if that does not take long, and stop."""
        with self._turn:
            self._until = time.monotonic() + CLOSE_SECONDS
            self._wanted = self._closing = True
            self._turn.notify_all()
        self._threads[0].join(CLOSE_SECONDS)

    def _reporting(self) -> None:
        failures = 0
        while True:
            with self._turn:
                is_last, self._wanted = self._closing, False
            is_heard = self._attempted(self._send_report)
            failures = 0 if is_heard else failures + 1
            if is_last and (is_heard or time.monotonic() >= self._until):
                return
            self._rest(failures)

    def _rest(self, failures: int) -> None:
        """Wait for something new, or for a while."""
        regular = self._heard.report_interval_seconds
        seconds = _pause_seconds(failures) if failures else regular
        if self._closing:
            seconds = min(seconds, max(self._until - time.monotonic(), 0.0))
        with self._turn:
            self._turn.wait_for(lambda: self._wanted, seconds)

    def _listening(self) -> None:
        failures = 0
        while not self._closing:
            is_heard = self._attempted(self._listen)
            failures = 0 if is_heard else failures + 1
            if not is_heard:
                with self._turn:
                    self._turn.wait_for(lambda: self._closing, _pause_seconds(failures))

    def _send_report(self) -> Answer:
        seconds = CLOSE_SECONDS if self._closing else ANSWER_SECONDS
        return exchange(self._place, "/v1/report", self._report(self._heard), seconds=seconds)

    def _listen(self) -> Answer:
        known = self._heard.notice.id if self._heard.notice else ""
        asked = f"/v1/notice?wait={LISTEN_SECONDS:g}&known={known}"
        return exchange(self._place, asked, seconds=LISTEN_SECONDS + ANSWER_SECONDS)

    def _attempted(self, ask: Callable[[], Answer]) -> bool:
        """Whether there was a response, whose instructions are kept."""
        try:
            answer = _leaders(ask)
        except Exception as error:  # noqa: BLE001 - nothing here may hurt the training
            return self._failed(type(error).__name__)
        if answer.instructions is None:
            return self._failed(f"{answer.status} {answer.error}")
        self._take(answer.instructions)
        return True

    def _take(self, said: Instructions) -> None:
        before, self._heard = self._heard, said
        self._is_silent = False
        if said.notice is not None and before.notice is None:
            _log.warning("to be stopped: %s: %s", said.notice.reason, said.notice.message)
            # Another process of the gang may have made us save for it before we knew of it.
            self.wake()

    def _failed(self, why: str) -> bool:
        """Log once that the operator cannot be reached."""
        if not self._is_silent:
            _log.warning("the operator does not answer, training goes on: %s", why)
        self._is_silent = True
        return False


def _leaders(ask: Callable[[], Answer]) -> Answer:
    """The leader's response, found by repeated requests; otherwise the last one's."""
    for _ in range(_TRIES_AT_ONCE - 1):
        answer = ask()
        if answer.status != _NOT_LEADING:
            return answer
        time.sleep(random.uniform(0.01, 0.05))  # noqa: S311 - no secret
    return ask()


def _pause_seconds(failures: int) -> float:
    pause = min(_FIRST_PAUSE_SECONDS * 2 ** (failures - 1), _LONGEST_PAUSE_SECONDS)
    return pause * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
