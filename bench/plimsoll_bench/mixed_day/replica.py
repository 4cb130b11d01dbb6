"""How long one replica takes for requests: a service model from profiles, and its queue.

Profiles are CSV, one row for each GPU profile and number of users in a closed loop, with the
columns model, gpu, num_users, n_requests, n_ok, throughput_req_s, median_ttft_ms,
median_nttft_ms_per_input_tok, median_itl_ms, mean_input_tokens and mean_output_tokens. Rows where
more than one in a hundred requests failed, or a column is empty, are left out.

- By Little's law `users - throughput * median time to first token` requests are being decoded; the
  time between tokens is interpolated linearly between these numbers. No more than the largest
  number run at once.
- What remains of the time for a request at the highest throughput, beside its share of decoding,
  is prefill: a fixed time per token of input.
- What a single user waits for the first token beyond that is latency, and keeps no GPU busy.

A replica prefills waiting requests one by one, oldest first, while decoding stands still. The model
leaves out memory for long contexts, attention's growth with them, and prefix caches.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from plimsoll_bench.recorded import Row

LEAST_SUCCEEDED = 0.99
COLUMNS = (
    "n_requests",
    "n_ok",
    "throughput_req_s",
    "median_ttft_ms",
    "median_nttft_ms_per_input_tok",
    "median_itl_ms",
    "mean_input_tokens",
    "mean_output_tokens",
)


@dataclass(frozen=True, slots=True)
class Service:
    """Seconds of a replica: latency, prefill of a token of input, time between tokens.

    The last are by the number of requests decoded at once, from none to the most.
    """

    latency: float
    for_input_token: float
    between_tokens: tuple[float, ...]

    @property
    def most_running(self) -> int:
        """The most requests decoded at once."""
        return len(self.between_tokens) - 1


@dataclass(frozen=True, slots=True)
class Request:
    """When it comes, in seconds, and its tokens."""

    arrives: float
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Objective:
    """The most seconds to the first token, and for each further one until the last.

    A reader at this pace who starts at the deadline of the first token never waits at the end; a
    short pause in a short answer is not a violation.
    """

    first_token: float
    for_token: float


@dataclass(frozen=True, slots=True)
class _Level:
    """One row in seconds."""

    users: int
    rate: float
    first_token: float
    between_tokens: float
    input_tokens: float
    output_tokens: float
    first_by_input: float

    @property
    def running(self) -> float:
        return max(1.0, self.users - self.rate * self.first_token)


def services_in(rows: Sequence[Row], model: str) -> dict[str, Service]:
    """The service of one model by GPU profile; those without measurable prefill are left out."""
    levels: dict[str, list[_Level]] = {}
    for row in rows:
        if row.text("model") == model and _is_sound(row):
            levels.setdefault(row.text("gpu"), []).append(_level(row))
    found = {gpu: _service(sorted(each, key=_users)) for gpu, each in levels.items()}
    return {gpu: service for gpu, service in found.items() if service.for_input_token > 0}


def _is_sound(row: Row) -> bool:
    known = [row.known(column) for column in COLUMNS]
    return all(known) and row.number("n_ok") >= LEAST_SUCCEEDED * row.positive("n_requests")


def _level(row: Row) -> _Level:
    return _Level(
        row.whole("num_users", least=1),
        row.positive("throughput_req_s"),
        row.positive("median_ttft_ms") / 1000,
        row.positive("median_itl_ms") / 1000,
        row.positive("mean_input_tokens"),
        row.positive("mean_output_tokens"),
        row.positive("median_nttft_ms_per_input_tok") / 1000,
    )


def _users(level: _Level) -> int:
    return level.users


def _service(levels: Sequence[_Level]) -> Service:
    rising = [levels[0]]
    for level in levels[1:]:
        if level.running > rising[-1].running:
            rising.append(level)
    return Service(_latency(levels), _for_input_token(levels), _between(rising))


def _for_input_token(levels: Sequence[_Level]) -> float:
    busiest = max(levels, key=lambda level: level.rate)
    decoding = (busiest.output_tokens - 1) * busiest.between_tokens / busiest.running
    return (1 / busiest.rate - decoding) / busiest.input_tokens


def _latency(levels: Sequence[_Level]) -> float:
    alone = levels[0]
    input_tokens = alone.first_token / alone.first_by_input
    return max(0.0, alone.first_token - _for_input_token(levels) * input_tokens)


def _between(rising: Sequence[_Level]) -> tuple[float, ...]:
    """By the number running; none counts like one."""
    times = [rising[0].between_tokens] * (int(rising[0].running) + 1)
    for low, high in pairwise(rising):
        slope = (high.between_tokens - low.between_tokens) / (high.running - low.running)
        while len(times) <= int(high.running):
            times.append(low.between_tokens + slope * (len(times) - low.running))
    return tuple(times)


class Replica:
    """One replica over time; counts the requests that it served in time."""

    __slots__ = (
        "_decoded",
        "_now",
        "_objective",
        "_running",
        "_service",
        "_waiting",
        "in_time",
        "load",
    )

    def __init__(self, service: Service, objective: Objective) -> None:
        self._service = service
        self._objective = objective
        self._now = 0.0
        # Tokens that a request would have got if it had been running since the start.
        self._decoded = 0.0
        self._waiting: deque[tuple[Request, float]] = deque()
        # When each has its last token (in tokens decoded), when it should (in seconds), its load.
        self._running: list[tuple[float, float, float]] = []
        self.in_time = 0
        self.load = 0.0

    def take(self, request: Request, load: float) -> None:
        """Advance to a request's arrival, then add it with its load until it is done."""
        self._waiting.append((request, load))
        self.load += load

    def advance(self, until: float) -> None:
        """Do the work until then; a prefill that has begun is finished."""
        while self._now < until:
            if self._waiting and len(self._running) < self._service.most_running:
                self._prefill(*self._waiting.popleft())
            elif self._running:
                self._decode(until)
            else:
                self._now = until

    def _prefill(self, request: Request, load: float) -> None:
        self._now += request.input_tokens * self._service.for_input_token
        limits, more = self._objective, max(0, request.output_tokens - 1)
        since = request.arrives - self._service.latency
        last = float("-inf")
        if self._now - since <= limits.first_token:
            last = since + limits.first_token + more * limits.for_token
        heapq.heappush(self._running, (self._decoded + more, last, load))

    def _decode(self, until: float) -> None:
        """Decode until the next request is done, or until then."""
        token = self._service.between_tokens[len(self._running)]
        done = self._now + (self._running[0][0] - self._decoded) * token
        if done > until:
            self._decoded += (until - self._now) / token
            self._now = until
            return
        self._now = done
        self._decoded, last, load = heapq.heappop(self._running)
        self.load -= load
        self.in_time += done <= last
