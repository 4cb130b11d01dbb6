"""How much of a day's requests a fleet serves in time: queues, routing, and replica capacity.

A request goes to the least loaded of the replicas that the mix assigns to its bucket. An
outstanding request's load is the replica time that it takes: one over what the replica carries of
its bucket. A request whose bucket was left unserved may go to any replica.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from plimsoll_bench.mixed_day.arrivals import Day
from plimsoll_bench.mixed_day.replica import Objective, Replica, Request, Service
from plimsoll_placement.estimate.mix.problem import Served

_Route = Sequence[tuple[float, Replica]]
"""Replicas that may take a request, each with the load that it would be there."""

MILLION = 10**6
ALONE_REQUESTS = 4000
ALONE_REPLICAS = 8
BISECTIONS = 10
LEAST_RATE, MOST_RATE = 0.001, 1000.0


class Kind(Protocol):
    """How replicas of a GPU profile serve, and what each carries of every bucket."""

    @property
    def service(self) -> Service:
        """The service of each replica."""
        ...

    @property
    def carries(self) -> tuple[int, ...]:
        """Millionths of a request per second, by bucket."""
        ...


@dataclass(frozen=True, slots=True)
class Goal:
    """The objective, and the share of requests that must meet it."""

    objective: Objective
    share: float


def attainment(day: Day, kinds: Sequence[Kind], served: Served, goal: Goal) -> float:
    """The share of the day's requests that this fleet serves in time."""
    fleet = [
        [Replica(kind.service, goal.objective) for _ in range(count)]
        for kind, count in zip(kinds, served.replicas, strict=True)
    ]
    if not any(fleet):
        return 0.0
    routes = [_route(kinds, fleet, served, bucket) for bucket in range(len(day.bounds) + 1)]
    for request in day.requests:
        _send(request, routes[day.bucket(request)])
    return _drained(replica for replicas in fleet for replica in replicas) / len(day.requests)


def spilling(kinds: Sequence[Kind], served: Served) -> Served:
    """The same replicas, but each may take any request of a bucket that it carries at all."""
    return Served(served.replicas, tuple(tuple(map(float, kind.carries)) for kind in kinds))


def _route(
    kinds: Sequence[Kind], fleet: Sequence[Sequence[Replica]], served: Served, bucket: int
) -> _Route:
    """The replicas that the bucket was assigned to, or all."""
    found = [
        (MILLION / kind.carries[bucket], replica)
        for kind, replicas, loads in zip(kinds, fleet, served.loads, strict=True)
        if loads[bucket] > 0 and kind.carries[bucket] > 0
        for replica in replicas
    ]
    return found or [(1.0, replica) for replicas in fleet for replica in replicas]


def _send(request: Request, route: _Route) -> None:
    for _, replica in route:
        replica.advance(request.arrives)
    load, replica = min(route, key=_loaded)
    replica.take(request, load)


def _loaded(candidate: tuple[float, Replica]) -> float:
    load, replica = candidate
    return replica.load + load


def _drained(replicas: Iterable[Replica]) -> int:
    """The requests in time once all are done."""
    in_time = 0
    for replica in replicas:
        replica.advance(float("inf"))
        in_time += replica.in_time
    return in_time


def carried_alone(sizes: Sequence[Request], service: Service, goal: Goal, seed: int) -> float:
    """Requests per second of such sizes, at random times, for each replica of several; 0 if none.

    Several, since a single one is idle most of the time if one request in a hundred may be late.
    Sizes are drawn with replacement. Accurate to one part in a thousand.
    """
    if not sizes:
        return 0.0
    random = Random(seed)
    drawn = [(random.expovariate(1), random.choice(sizes)) for _ in range(ALONE_REQUESTS)]
    low = LEAST_RATE
    if not _carries(drawn, service, goal, low):
        return 0.0
    while low < MOST_RATE and _carries(drawn, service, goal, 2 * low):
        low *= 2
    high = 2 * low
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if _carries(drawn, service, goal, middle):
            low = middle
        else:
            high = middle
    return low / ALONE_REPLICAS


def _carries(
    drawn: Sequence[tuple[float, Request]], service: Service, goal: Goal, rate: float
) -> bool:
    replicas = [Replica(service, goal.objective) for _ in range(ALONE_REPLICAS)]
    route, now = [(1.0, replica) for replica in replicas], 0.0
    for gap, size in drawn:
        now += gap / rate
        _send(Request(now, size.input_tokens, size.output_tokens), route)
    return _drained(replicas) >= goal.share * len(drawn)
