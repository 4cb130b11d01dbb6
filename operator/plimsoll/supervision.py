"""Keep the parts of the operator running: restart a part that ends, after a rest.

A part is a watch, the writer, the planning loop: anything that should never end. What it does
follows from the state of the cluster and not from its own memory, so restarting it is always safe.
The rest grows with each failure in a row and shrinks again once the part has run well.

Nothing here ends the process, since a new process would meet whatever ended the part in the old
one. The process ends by itself only if it cannot start (no credentials, port in use), and the
kubelet ends it when the planning loop stalls (`kube.server.Pulse`). A Lease that is not renewed
expires, and another replica takes over.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from plimsoll.vocabulary import logs, metrics

_log = logs.logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part:
    """Something that should never end, and how to start it."""

    name: str
    run: Callable[[], Coroutine[Any, Any, Any]]


@dataclass(frozen=True, slots=True)
class RestartTerms:
    """How long a part rests before it is restarted, and when it counts as failing.

    It counts as failing after `failing_after` failures in a row, until it has run for
    `well_after_seconds`. A part asked to stop has `end_seconds` before it is asked again.
    """

    first_rest_seconds: float = 0.5
    longest_rest_seconds: float = 30.0
    well_after_seconds: float = 60.0
    failing_after: int = 3
    end_seconds: float = 5.0

    def rest_seconds(self, failures: int) -> float:
        """How long a part rests after so many failures in a row."""
        rest: float = self.first_rest_seconds * 2.0 ** min(failures - 1, 16)
        return min(rest, self.longest_rest_seconds)


@dataclass(slots=True)
class _Life:
    """The state of one part; `begun_at` is None while it rests."""

    begun_at: float | None = None
    failures: int = 0
    error: str = ""


class Supervisor:
    """Keeps parts running until stopped. `clock` is monotonic; `rest` sleeps for seconds."""

    def __init__(
        self,
        terms: RestartTerms | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._terms = terms or RestartTerms()
        self._clock, self._rest = clock, rest
        self._lives: dict[str, _Life] = {}
        self._tasks: list[asyncio.Task[Any]] = []

    def begin(self, part: Part) -> None:
        """Run a part from now on."""
        life = self._lives[part.name] = _Life()
        metrics.PART_RESTARTS.labels(part.name)
        failing = metrics.PART_FAILING.labels(part.name)
        failing.set_function(lambda: self._keeps_failing(life))
        self._tasks.append(asyncio.create_task(self._keep(part, life), name=part.name))

    def problems(self) -> list[str]:
        """Which parts keep failing, and with what error."""
        failing = ((n, life) for n, life in self._lives.items() if self._keeps_failing(life))
        return [f"{n}: failed {life.failures} times, {life.error}" for n, life in failing]

    async def stop(self) -> None:
        """Stop all parts; ask again those that keep running."""
        left = set(self._tasks)
        while left:
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=self._terms.end_seconds)

    async def _keep(self, part: Part, life: _Life) -> NoReturn:
        while True:
            life.begun_at = self._clock()
            error = await _end_of(part)
            if self._runs_well(life):
                life.failures = 0
            life.begun_at = None
            life.failures += 1
            life.error = f"{type(error).__name__}: {error}"
            metrics.PART_RESTARTS.labels(part.name).inc()
            seconds = self._terms.rest_seconds(life.failures)
            _log.error(
                "a part failed",
                part=part.name,
                failures=life.failures,
                rests_seconds=seconds,
                error=life.error,
                exc_info=error,
            )
            await self._rest(seconds)

    def _runs_well(self, life: _Life) -> bool:
        begun = life.begun_at
        return begun is not None and self._clock() - begun >= self._terms.well_after_seconds

    def _keeps_failing(self, life: _Life) -> bool:
        return life.failures >= self._terms.failing_after and not self._runs_well(life)


async def _end_of(part: Part) -> BaseException:
    """Run a part until it ends and return why; raises CancelledError if the end was requested."""
    try:
        await part.run()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return error
    except Exception as error:  # noqa: BLE001 - around one part: the others go on
        return error
    return RuntimeError("it came to its end, which it never should")


def count_unforeseen(doing: str, error: Exception, **about: object) -> None:
    """Record an unforeseen error that affected a single object only."""
    metrics.OBJECT_ERRORS.labels(doing).inc()
    _log.error("an unforeseen error cost one object", doing=doing, **about, exc_info=error)


def count_failure(doing: str, task: "asyncio.Task[Any]") -> None:
    """Record the error with which a task for a single object ended, if it did."""
    error = None if task.cancelled() else task.exception()
    if isinstance(error, Exception):
        count_unforeseen(doing, error)


def result_of(task: "asyncio.Task[T]") -> T | None:
    """What a task has returned; None while it runs, or if it failed or was cancelled."""
    is_known = task.done() and not task.cancelled() and not task.exception()
    return task.result() if is_known else None
