"""The agent's loop: apply the Node's wanted limits to the GPUs, and report their actual limits.

It holds no state that a restart would miss: each turn starts from the Node's annotations, the
operator's Lease and the GPUs' own answers. Two threads keep the first two current, and wake the
loop. When it ends it leaves the limits in place, since a successor is about to start: lifting them
during a rolling update would let a power domain exceed its budget.
"""

import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from plimsoll_agent import metrics
from plimsoll_agent.api_server import ApiServer
from plimsoll_agent.errors import ApiError, DeviceError
from plimsoll_agent.lease import OperatorLease
from plimsoll_agent.logs import logger
from plimsoll_agent.node import Node
from plimsoll_agent.nvml import Gpus
from plimsoll_agent.operator_life import Life
from plimsoll_agent.orders import Cap, Order, order
from plimsoll_agent.report import WANTED, Report, report
from plimsoll_agent.settings import Settings
from plimsoll_agent.settling import settled

_FIRST_RETRY_SECONDS = 1.0
_LONGEST_RETRY_SECONDS = 60.0
_LONGEST_TURN_SECONDS = 60.0
_log = logger()


class Agent:
    """Runs on one node until told to stop."""

    def __init__(self, settings: Settings) -> None:
        server = ApiServer(
            settings.api_server, token_file=settings.token_file, ca_file=settings.ca_file
        )
        self._settings = settings
        # Putting an item in is safe even in a signal handler; threading.Event.set is not.
        self._news: SimpleQueue[None] = SimpleQueue()
        self._node = Node(server, settings.node_name, self._wake)
        self._lease = OperatorLease(
            server,
            namespace=settings.operator_namespace,
            name=settings.operator_lease,
            timeout_seconds=settings.operator_timeout_seconds,
        )
        self._gpus = Gpus()
        self._threads = [
            threading.Thread(target=self._follow_node, name="node", daemon=True),
            threading.Thread(target=self._look_at_lease, name="lease", daemon=True),
        ]
        self._ends = False
        self._failures = 0
        self._turned_at = time.monotonic()
        self._lack = ""
        self._said: tuple[Life, Order, Report] | None = None

    def run(self) -> None:
        """Work until SIGTERM or SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        for thread in self._threads:
            thread.start()
        while not self._ends:
            self._turn()
            self._wait()
        _log.info("ended, the limits stay as they are")

    def problem_of_life(self) -> str:
        """Why a restart may help; "" if all is well."""
        age = time.monotonic() - self._turned_at
        if age > self._longest_wait_seconds + _LONGEST_TURN_SECONDS:
            return f"the last turn ended {age:.0f} s ago: the driver does not answer"
        ended = [thread.name for thread in self._threads if not thread.is_alive()]
        return f"the thread has ended: {ended[0]}" if ended else ""

    def problem_of_readiness(self) -> str:
        """Why this node's limits cannot be relied on yet; "" if all is well."""
        return "" if self._said is not None else f"the Node {self._settings.node_name} is not known"

    def _turn(self) -> None:
        annotations = self._node.annotations
        if annotations is not None:
            life = self._lease.life()
            metrics.OPERATOR_ALIVE.set(life is Life.ALIVE)
            given = order(
                annotations.get(WANTED),
                life,
                timeout_seconds=self._settings.operator_timeout_seconds,
            )
            self._carry_out(given, life)
        self._turned_at = time.monotonic()

    def _carry_out(self, given: Order, life: Life) -> None:
        is_well, outcome = self._obey(given)
        self._say(life, given, outcome)
        # While the operator's state is unknown nothing is done, so there is no news.
        is_well &= life is Life.UNKNOWN or self._publish(outcome)
        self._failures = 0 if is_well else self._failures + 1

    def _obey(self, given: Order) -> tuple[bool, Report]:
        """Whether the GPUs did what was asked, and what to report."""
        why = "" if isinstance(given, Cap) else given.why
        try:
            readings = settled(self._gpus, given)
        except DeviceError as error:
            self._open_anew()
            self._say_lack(str(error))
            return False, _without_gpus(given, why, str(error))
        self._say_lack("" if readings else "there is no GPU")
        if not readings:
            return True, _without_gpus(given, why, "there is no GPU")
        if all(reading.enforced is None for reading in readings):
            self._open_anew()
        return not any(reading.is_failure for reading in readings), report(readings, why)

    def _open_anew(self) -> None:
        """Nothing responds: the library may be outdated after a driver update."""
        with suppress(DeviceError):
            self._gpus.close()

    def _publish(self, outcome: Report) -> bool:
        """Write the report to the Node; return whether it is there."""
        if not outcome.differs_from(self._node.annotations or {}):
            return True
        return self._tried(lambda: self._node.write(outcome), "the report is not written")

    def _say_lack(self, cause: str) -> None:
        """Log once that there is nothing to do here; a node without GPUs is no fault."""
        if cause and cause != self._lack:
            _log.info("no GPU to set a limit of", cause=cause)
        self._lack = cause

    def _say(self, life: Life, given: Order, outcome: Report) -> None:
        """Log what has changed since it was last logged."""
        if self._said != (life, given, outcome):
            self._said = (life, given, outcome)
            log = _log.warning if outcome.problem else _log.info
            said = {"operator": life.value, "order": str(given)}
            log("settled", **said, watts=outcome.limits, problem=outcome.problem)

    def _follow_node(self) -> None:
        failures = 0
        while True:
            is_well = self._tried(self._node.follow, "the Node is not watched")
            failures = 0 if is_well else failures + 1
            time.sleep(_retry_seconds(max(failures, 1)))  # an early end must not make it spin

    def _look_at_lease(self) -> None:
        while True:
            before = self._lease.life()
            self._tried(self._lease.look, "the operator's Lease is not seen")
            if self._lease.life() is not before:
                self._wake()
            time.sleep(self._lease.pause_seconds * random.uniform(0.9, 1.0))  # noqa: S311 - no secret

    def _tried(self, attempt: Callable[[], None], complaint: str) -> bool:
        try:
            attempt()
        except ApiError as error:
            metrics.ERRORS.labels("api").inc()
            _log.warning(complaint, error=str(error))
            return False
        return True

    def _wait(self) -> None:
        """Wait for news, or until it is time to check the GPUs again."""
        seconds = self._longest_wait_seconds
        if self._failures:
            seconds = min(seconds, _retry_seconds(self._failures))
        with suppress(Empty):
            self._news.get(timeout=seconds)
            while True:
                self._news.get_nowait()

    @property
    def _longest_wait_seconds(self) -> float:
        # A Lease that has stopped changing wakes nothing.
        timeout = self._settings.operator_timeout_seconds
        return min(self._settings.resync_seconds, timeout / 4)

    def _wake(self) -> None:
        self._news.put(None)

    def _end(self, _number: int, _frame: object) -> None:
        self._ends = True
        self._wake()


def _without_gpus(given: Order, why: str, cause: str) -> Report:
    """The report of a node without a driver or a GPU: nothing, unless a cap is wanted of it."""
    problem = f"no power limit can be set here: {cause}" if isinstance(given, Cap) else why
    return Report(None, problem or None)


def _retry_seconds(failures: int) -> float:
    pause = _FIRST_RETRY_SECONDS * 2 ** min(failures - 1, 10)
    return min(pause, _LONGEST_RETRY_SECONDS) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
