"""The replicas of both phases as time passes: they start, serve, drain and go.

A request goes to the prefill replica that is done first, and then to the decode replica with the
fewest requests. A replica that leaves takes no new request and goes once it has none.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from plimsoll_bench.mixed_day.replica import Request
from plimsoll_bench.phases.engines import Decode, Output, Prefill, Truth

PREFILL, DECODE = "prefill", "decode"
ROLES: Final = (PREFILL, DECODE)


@dataclass(slots=True, eq=False)
class Replica:
    """A replica, its engine, and since when it is there and ready; `leaves`: it drains."""

    role: str
    number: int
    gpu_type: str
    engine: Prefill | Decode
    created: float
    ready: float
    leaves: bool = False

    @property
    def name(self) -> str:
        """Its pod's name."""
        return self.engine.name

    def serves(self, now: float) -> bool:
        """Whether it takes requests."""
        return self.ready <= now and not self.leaves


@dataclass(frozen=True, slots=True)
class Promise:
    """The objectives in seconds, and the share of requests that must be within them."""

    first_token: float
    output_token: float
    share: float = 0.99


@dataclass(slots=True)
class Served:
    """A request: when it came and how long it took, as far as it was served."""

    came: float
    first_token: float
    output: Output | None = None


@dataclass(slots=True)
class Fleet:
    """All replicas. `start_seconds`: how long one takes to start. Names are after `job`."""

    truths: Mapping[str, Truth]
    start_seconds: float
    job: str = "chat"
    now: float = 0.0
    replicas: list[Replica] = field(default_factory=list[Replica])
    served: list[Served] = field(default_factory=list[Served])
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(ROLES, 0.0))
    _to_decode: list[tuple[float, int, Served, int]] = field(
        default_factory=list[tuple[float, int, Served, int]]
    )
    _arrived: int = 0

    def of(self, role: str) -> list[Replica]:
        """A role's replicas that stay."""
        return [each for each in self.replicas if each.role == role and not each.leaves]

    def add(self, role: str, gpu_type: str, *, ready: bool = False) -> None:
        """Start a replica."""
        taken = {each.number for each in self.replicas if each.role == role}
        number = next(n for n in range(len(taken) + 1) if n not in taken)
        name, truth = f"{self.job}-{role}-{number}", self.truths[gpu_type]
        engine = Prefill(name, truth) if role == PREFILL else Decode(name, truth)
        engine.advance(self.now)
        at = self.now + (0.0 if ready else self.start_seconds)
        self.replicas.append(Replica(role, number, gpu_type, engine, self.now, at))

    def serve(self, requests: Sequence[Request], until: float) -> None:
        """Let these requests come, and time pass."""
        for request in requests:
            self._decode_until(request.arrives)
            self._prefill(request)
        self._decode_until(until)
        for replica in self.replicas:
            replica.engine.advance(until)
            self.seconds[replica.role] += until - max(replica.created, self.now)
        self.now = until
        self.replicas = [each for each in self.replicas if not (each.leaves and _idle(each))]

    def _prefill(self, request: Request) -> None:
        now = request.arrives
        ready = [each.engine for each in self._ready(PREFILL, now)]
        engine = min(
            (engine for engine in ready if isinstance(engine, Prefill)),
            key=lambda engine: engine.busy(now),
        )
        done = engine.take(now, request.input_tokens)
        served = Served(now, done - now)
        self.served.append(served)
        self._arrived += 1
        if request.output_tokens > 1:
            entry = (done, self._arrived, served, request.output_tokens - 1)
            heapq.heappush(self._to_decode, entry)

    def _decode_until(self, until: float) -> None:
        while self._to_decode and self._to_decode[0][0] <= until:
            now, _, served, tokens = heapq.heappop(self._to_decode)
            served.output = Output(tokens, now)
            engines = [each.engine for each in self._ready(DECODE, now)]
            for engine in engines:
                engine.advance(now)
            engine = min(
                (engine for engine in engines if isinstance(engine, Decode)),
                key=lambda engine: (engine.waiting, engine.running * engine.truth.step_growth),
            )
            engine.take(now, served.output)

    def _ready(self, role: str, now: float) -> list[Replica]:
        """The replicas that take requests; if none does, the one that will be ready first."""
        mine = [each for each in self.replicas if each.role == role]
        ready = [each for each in mine if each.serves(now)]
        return ready or [min(mine, key=lambda each: (each.leaves, each.ready))]


def _idle(replica: Replica) -> bool:
    return not replica.engine.running and not replica.engine.waiting


@dataclass(frozen=True, slots=True)
class Score:
    """The shares of requests within the objectives, in percent."""

    first_token_percent: float
    output_token_percent: float

    def keeps(self, promise: Promise) -> bool:
        """Whether both objectives are met."""
        least = 100 * promise.share
        return self.first_token_percent >= least and self.output_token_percent >= least


def score(served: Sequence[Served], promise: Promise, since: float) -> Score:
    """The score of what came since then. What is not decoded in the end took too long."""
    scored = [each for each in served if each.came >= since]
    first = [each.first_token <= promise.first_token for each in scored]
    output = [*_in_time(scored, promise)]
    return Score(_percent(first), _percent(output))


def _in_time(scored: Sequence[Served], promise: Promise) -> Iterator[bool]:
    for each in scored:
        if each.output is not None:
            yield 0 < each.output.seconds <= promise.output_token


def _percent(held: Sequence[bool]) -> float:
    return 100 * sum(held) / len(held) if held else 100.0
