"""One replica of each phase, as a queue of known speed.

Prefill takes prompts one after the other, so many tokens a second. Decode works on up to so many
requests at once; each step gives every one of them a token, and takes longer the more they are. The
model leaves out attention's growth with the context, prefix caches, and failed transfers.
"""

import heapq
import itertools
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

FIRST_TOKEN_BOUNDS: Final = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0),
    *(2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
OUTPUT_TOKEN_BOUNDS: Final = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0),
    *(2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)
"""The buckets of vLLM's histograms, in seconds."""
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Truth:
    """How fast one replica of each phase is.

    A step of decode takes `step_seconds`, and `step_growth` more for each request in it.
    """

    prompt_tokens_per_second: float
    step_seconds: float
    step_growth: float
    most_running: int

    def decode_tokens_per_second(self, seconds: float) -> float:
        """What a decode replica yields while each token takes this long."""
        running = min((seconds - self.step_seconds) / self.step_growth, self.most_running)
        return max(running, 1.0) / (self.step_seconds + self.step_growth * max(running, 1.0))


@dataclass(slots=True)
class Counters:
    """What a replica has answered so far, as an engine counts it."""

    bounds: Sequence[float]
    requests: int = 0
    tokens: float = 0.0
    times: list[int] = field(default_factory=list[int])
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.times = [0] * (len(self.bounds) + 1)

    def timed(self, seconds: float) -> None:
        """Count a time in its bucket."""
        self.times[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds


@dataclass(slots=True, eq=False)
class Prefill:
    """A replica that takes prompts one after the other."""

    name: str
    truth: Truth
    counters: Counters = field(default_factory=lambda: Counters(FIRST_TOKEN_BOUNDS))
    _free_at: float = 0.0
    _queue: deque[tuple[float, float, int]] = field(default_factory=deque[tuple[float, float, int]])

    def take(self, now: float, tokens: int) -> float:
        """Queue a prompt; return when its first token comes."""
        done = max(now, self._free_at) + tokens / self.truth.prompt_tokens_per_second
        self._free_at = done
        self._queue.append((done, now, tokens))
        return done

    def advance(self, now: float) -> None:
        """Let time pass."""
        while self._queue and self._queue[0][0] <= now:
            done, came, tokens = self._queue.popleft()
            self.counters.requests += 1
            self.counters.tokens += tokens
            self.counters.timed(done - came)

    def busy(self, now: float) -> float:
        """The seconds until it has nothing left to do."""
        return max(self._free_at - now, 0.0)

    @property
    def running(self) -> int:
        """The requests that are worked on."""
        return min(len(self._queue), 1)

    @property
    def waiting(self) -> int:
        """The requests that wait here."""
        return len(self._queue) - self.running


@dataclass(slots=True)
class Output:
    """A request at decode: its remaining tokens, when it came, and seconds for each in the end."""

    tokens: int
    came: float
    seconds: float = 0.0


@dataclass(slots=True, eq=False)
class Decode:
    """A replica that gives each of its requests a token a step.

    `_steps` is how many steps it has made; a request is done at the step that is noted beside it.
    """

    name: str
    truth: Truth
    counters: Counters = field(default_factory=lambda: Counters(OUTPUT_TOKEN_BOUNDS))
    _steps: float = 0.0
    _now: float = 0.0
    _active: list[tuple[float, int, Output]] = field(
        default_factory=list[tuple[float, int, Output]]
    )
    _queue: deque[Output] = field(default_factory=deque[Output])

    def take(self, now: float, output: Output) -> None:
        """Queue a request; its time was advanced to now."""
        self._now = now
        self._queue.append(output)
        self._start()

    def advance(self, now: float) -> None:
        """Let time pass."""
        while self._active:
            step = self.truth.step_seconds + self.truth.step_growth * len(self._active)
            at = self._now + max(self._active[0][0] - self._steps, 0.0) * step
            if at > now:
                self._go_on((now - self._now) / step, now)
                return
            self._go_on((at - self._now) / step, at)
            self._finish()
        self._now = now

    @property
    def running(self) -> int:
        """The requests that are worked on."""
        return len(self._active)

    @property
    def waiting(self) -> int:
        """The requests that wait here."""
        return len(self._queue)

    def _go_on(self, steps: float, now: float) -> None:
        self._steps += steps
        self.counters.tokens += steps * len(self._active)
        self._now = now

    def _finish(self) -> None:
        _, _, output = heapq.heappop(self._active)
        output.seconds = (self._now - output.came) / output.tokens
        self.counters.requests += 1
        self.counters.timed(output.seconds)
        self._start()

    def _start(self) -> None:
        while self._queue and len(self._active) < self.truth.most_running:
            output = self._queue.popleft()
            heapq.heappush(self._active, (self._steps + output.tokens, next(_numbers), output))
