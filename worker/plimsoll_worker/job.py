"""A training program's interface to Plimsoll, called step by step.

Each call of `progress` fixes what to do until the next one. So a program that saves first and stops
then never stops for something that it did not save for, and all processes of a gang, which agree in
`progress`, do the same in the same step.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Callable

from plimsoll_worker.batch import Batch, number_of
from plimsoll_worker.link import Link
from plimsoll_worker.meter import Meter
from plimsoll_worker.neighbours import Neighbours
from plimsoll_worker.stopwatch import Stopwatch
from plimsoll_worker.termination import Termination
from plimsoll_worker.wire import Instructions, Notice, Place
from plimsoll_worker.word import SAVE, STOP, TERMINATED, mark_in, mark_of, word_of

STOPPED = 143
"""The exit status of a program stopped before its work was done, as after SIGTERM.

With 0 the job would count as complete.
"""
_LATE_SECONDS = 60.0
"""How long after its deadline a worker that has stopped still waits to be ended."""
_PATIENCE_SECONDS = 600.0
"""The same if no deadline is known, because another process reports."""
_HEARSAY_SECONDS = 3.0
"""How much later than others a process may learn of the notice that all of them stop for."""
_LOOK_SECONDS = 0.1
_log = logging.getLogger("plimsoll_worker")


class Job:
    """The job that this process works for; made by `attach`, and used in a `with` statement."""

    def __init__(
        self,
        place: Place | None = None,
        *,
        agree: Callable[[int], int] | None = None,
        termination: Termination | None = None,
        neighbours: Neighbours | None = None,
        batch: Batch | None = None,
    ) -> None:
        self._place, self._agree, self._termination = place, agree, termination
        self._neighbours = neighbours
        self._link = None if place is None else Link(place, self._report)
        self._meter, self._stopwatch = Meter(), Stopwatch()
        self._batch = batch
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}
        self._saved_at = 0.0
        self._asked_at = time.monotonic()
        self._asked: set[int] = set()
        self._heeded: set[int] = set()
        self._word = 0
        self._stops = False

    @property
    def notice(self) -> Notice | None:
        """What is ahead, if anything is and this process knows of it."""
        return self._heard.notice

    @property
    def batch(self) -> Batch:
        """The batch to train with until the next `progress`.

        Raises ValueError unless `attach` was given the first one.
        """
        if self._batch is None:
            raise ValueError("give attach(batch=...) the batch that the program begins with")
        return self._batch

    @property
    def should_save(self) -> bool:
        """Whether to save now and then call `saved`: before a stop, and at the asked interval."""
        return bool(self._word & SAVE)

    @property
    def should_stop(self) -> bool:
        """Whether to leave the `with` block, after a save if `should_save` says so."""
        self._stops = bool(self._word & STOP)
        return self._stops

    @contextmanager
    def computing(self, wait: Callable[[], object] | None = None) -> Generator[None, None, None]:
        """Time what this process does alone in a step, before it waits for the others.

        If a device works on after the call that started it has returned, `wait` must wait for it,
        such as `torch.cuda.synchronize`; it is called before and after. The parts of a step add up.
        Not every step has to be timed.
        """
        begun = _settled_time(wait)
        yield
        self.computed(_settled_time(wait) - begun)

    def computed(self, seconds: float) -> None:
        """Report how long this process has computed in this step, as `computing` would measure."""
        number = _number("computed", seconds)
        if number is not None:
            with self._lock:
                self._stopwatch.computed(number)

    def progress(
        self,
        done: float | None = None,
        *,
        rate: float | None = None,
        efficiency: float | None = None,
        gradient_noise: float | None = None,
    ) -> None:
        """Report the job's progress, and fix what to do now. Call it once per step.

        `done` is in units of the job's work, over all starts; `rate`, in units per second of the
        whole gang, is measured if omitted. The others are those of docs/guides/training.md.
        """
        self._note(done=done, efficiency=efficiency, gradientNoise=gradient_noise)
        if rate is None and done is not None and "done" in self._said:
            self._meter.saw(time.monotonic(), self._said["done"])
            rate = self._meter.rate()
        self._note(rate=rate)
        self._stepped()
        own = self._own_word()
        word = own if self._agree is None else int(self._agree(own))
        if word & SAVE:
            self._asked_at = time.monotonic()
            self._asked.add(mark_in(word))
        # A requested save stays so until it is done, however often progress is reported.
        self._word = word | (self._word & SAVE)
        if self._batch is not None:
            self._change_batch(self._batch)

    def saved(self, done: float | None = None) -> None:
        """Report that a checkpoint with this much work is complete, or this process's part of it.

        Every process that `should_save` asks calls it. Without `done` it is what `progress` said.
        """
        number = self._said.get("done") if done is None else _number("saved", done)
        with self._lock:
            if number is not None:
                self._said["saved"] = number
                self._saved_at = time.monotonic()
            if self._word & (SAVE | STOP):
                self._heeded.add(mark_in(self._word))
        self._asked_at = time.monotonic()
        self._word &= ~SAVE
        self._wake()

    def _change_batch(self, batch: Batch) -> None:
        """Go on with the batch that the plan has chosen, once all processes do."""
        own = number_of(self._heard.batch)
        wanted = batch.changed(own if self._agree is None else int(self._agree(own)))
        if wanted == batch:
            return
        with self._lock:
            # What was measured so far says nothing of this batch.
            self._meter, self._stopwatch = Meter(), Stopwatch()
            self._batch = wanted
            self._said.pop("rate", None)
            if self._neighbours is not None:
                self._neighbours.forget()
        self._wake()

    def __enter__(self) -> Job:  # noqa: PYI034 - Self is of Python 3.11
        """Start talking to the operator, if there is one."""
        if self._termination is not None:
            self._termination.begin()
        if self._link is not None:
            self._link.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Send the last report. After a stop wait to be ended, and raise SystemExit(STOPPED)."""
        is_stopped = kind is None and self._stops
        if is_stopped:
            with self._lock:
                self._heeded.add(mark_in(self._word))
            self._wake()
            self._wait_for_end()
        if self._link is not None:
            self._link.close()
        if self._termination is not None:
            self._termination.end()
        if is_stopped:
            raise SystemExit(STOPPED)

    def _wait_for_end(self) -> None:
        """Stay until SIGTERM: a program that ends by itself would appear to have failed."""
        begun = known_at = time.monotonic()
        while not self._is_ended and time.monotonic() < self._until(begun):
            if self.notice is not None:
                known_at = time.monotonic()
            elif self._is_for_notice and time.monotonic() - known_at > _HEARSAY_SECONDS:
                return  # it was withdrawn: the sooner the job restarts the better
            time.sleep(_LOOK_SECONDS)

    def _until(self, begun: float) -> float:
        notice = self.notice
        return begun + _PATIENCE_SECONDS if notice is None else notice.ends + _LATE_SECONDS

    @property
    def _is_for_notice(self) -> bool:
        """Whether this process stops for a notice, and would know if that is withdrawn."""
        return self._link is not None and mark_in(self._word) != TERMINATED

    @property
    def _heard(self) -> Instructions:
        return Instructions() if self._link is None else self._link.heard

    @property
    def _is_ended(self) -> bool:
        """Whether SIGTERM has come; unknown if the program handles that itself."""
        return self._termination is not None and self._termination.is_asked

    def _own_word(self) -> int:
        """What this process knows must be done. A save is requested once for each reason."""
        heard = self._heard
        mark = mark_of(heard.notice.id) if heard.notice else TERMINATED if self._is_ended else 0
        stop = self._is_ended or heard.stop
        is_due = (stop or heard.save) and mark not in self._asked
        return word_of(save=is_due or self._is_time(heard), stop=stop, mark=mark)

    def _is_time(self, heard: Instructions) -> bool:
        interval = heard.checkpoint_interval_seconds
        return interval is not None and time.monotonic() - self._asked_at >= interval

    def _stepped(self) -> None:
        now = time.monotonic()
        with self._lock:
            self._stopwatch.stepped(now)
            if self._neighbours is not None and self._link is None:
                self._neighbours.share(self._stopwatch.usual, now)

    def _step_time(self) -> Mapping[str, float]:
        """How long the slowest process of this pod computes in a step, and the step's duration."""
        with self._lock:
            usual = self._stopwatch.usual()
        if self._neighbours is not None:
            usual = self._neighbours.slowest(usual)
        return {} if usual is None else {"computeSeconds": usual.compute, "stepSeconds": usual.step}

    def _note(self, **said: Any) -> None:  # noqa: ANN401 - whatever a program calls a number
        for name, value in said.items():
            number = None if value is None else _number(name, value)
            if number is not None:
                with self._lock:
                    self._said[name] = number

    def _report(self, heard: Instructions) -> Mapping[str, object]:
        """Everything to report, for the thread that reports."""
        with self._lock:
            report: dict[str, object] = {**self._said}
            if self._batch is not None and self._batch.size is not None:
                report["batch"] = self._batch.size
            heeded = frozenset(self._heeded)
        if "saved" in report:
            report["savedSecondsAgo"] = time.monotonic() - self._saved_at
        if heard.notice is not None and mark_of(heard.notice.id) in heeded:
            report["acknowledged"] = heard.notice.id
        job = "" if self._place is None else self._place.job
        return {"job": job, **report, **self._step_time()}

    def _wake(self) -> None:
        if self._link is not None:
            self._link.wake()


def _settled_time(wait: Callable[[], object] | None) -> float:
    """The time when what was started is done."""
    if wait is not None:
        wait()
    return time.perf_counter()


def _number(name: str, value: Any) -> float | None:  # noqa: ANN401 - such as a tensor
    """The value as a plain number; None, with a warning, if it cannot be reported."""
    try:
        number = value if isinstance(value, int) else float(value)
    except (TypeError, ValueError):
        number = -1
    if math.isfinite(number) and number >= 0:
        return number
    _log.warning("%s is left out: it must be a number of 0 or above", name)
    return None
