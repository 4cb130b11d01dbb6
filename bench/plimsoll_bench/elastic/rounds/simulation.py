"""Simulate a workload under a policy: rounds of time, each ended by a decision.

In each round every job lives on where it is; then the policy sees the jobs that have been submitted
and are not done, and says where each should be.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from plimsoll_bench.elastic.rounds.knowledge import Knowledge
from plimsoll_bench.elastic.rounds.life import Life
from plimsoll_placement.estimate.throughput.samples import Sample
from plimsoll_simulator.recorded.gpu_pools import Place, Pool, node_names
from plimsoll_simulator.recorded.recording import Application, Arrival

ROUND_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Scene:
    """What a policy sees: the time, the cluster, and all jobs that want to run."""

    seconds: float
    pools: tuple[Pool, ...]
    lives: Sequence[Life]


Policy = Callable[[Scene], Mapping[str, Place]]
"""Where each job should be, by name; a job that is not named gets nothing."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the world works.

    `moves_are_free`: continuing elsewhere on the same GPU type and shape is not a restart, as in
    Sia's own simulator, which has no nodes.
    `knows_timings`: a job knows from the beginning how long its steps take at every size.
    """

    moves_are_free: bool = False
    knows_timings: bool = False


@dataclass(frozen=True, slots=True)
class Stay:
    """The place that a job held, with start and end in seconds since the beginning."""

    job: str
    place: Place
    begins: float
    ends: float


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a workload."""

    lives: tuple[Life, ...]
    stays: tuple[Stay, ...]
    decision_seconds: tuple[float, ...]


class OverfullError(Exception):
    """A policy gave a node's GPUs to two jobs at once."""


def simulate(
    arrivals: Sequence[Arrival],
    applications: Mapping[str, Application],
    pools: tuple[Pool, ...],
    policy: Policy,
    rules: Rules = Rules(),  # frozen
) -> Run:
    """Run all jobs until the last is done."""
    lives = tuple(_life(each, applications[each.application], pools, rules) for each in arrivals)
    now, diary, decisions = 0.0, _Diary(), list[float]()
    while any(life.completed is None for life in lives):
        for life in lives:
            life.advance(now, ROUND_SECONDS)
        now += ROUND_SECONDS
        wanting = [life for life in lives if life.arrival.seconds <= now and not life.completed]
        began = time.process_time()
        places = policy(Scene(now, pools, wanting))
        decisions.append(time.process_time() - began)
        _require_room(pools, places)
        for life in lives:
            place = places.get(life.arrival.name) if life.completed is None else None
            if rules.moves_are_free and place is not None and place.is_like(life.place):
                life.slide(place)
            else:
                life.put(place, now)
        diary.note(now, lives)
    return Run(lives, tuple(diary.stays), tuple(decisions))


def _life(arrival: Arrival, application: Application, pools: Sequence[Pool], rules: Rules) -> Life:
    timings = {pool.gpu_type: application.timings[pool.gpu_type] for pool in pools}
    knowledge = Knowledge(
        limits={kind: application.limits(kind) for kind in timings},
        single_rate={kind: each.single_rate for kind, each in timings.items()},
    )
    if rules.knows_timings:
        knowledge = replace(
            knowledge,
            samples={pool.gpu_type: recorded_samples(application, pool) for pool in pools},
            noise=application.training.noise(application.training.smallest_batch, 0),
        )
    return Life(arrival, application, knowledge)


def recorded_samples(application: Application, pool: Pool) -> frozenset[Sample]:
    """What a job would have measured if it had run at every size of a pool."""
    timings, slowdown = application.timings[pool.gpu_type], application.habits.slowdown
    samples: set[Sample] = set()
    for shape in pool.sizes():
        least, most = timings.local_least, timings.local_most(shape)
        for batch in sorted({round(least * (most / least) ** (i / 8)) for i in range(9)}):
            step, sync = timings.seconds(shape, batch)
            samples.add(Sample(len(shape), sum(shape), batch, step * slowdown, sync * slowdown))
    return frozenset(samples)


def _require_room(pools: Sequence[Pool], places: Mapping[str, Place]) -> None:
    held = Counter[str]()
    for place in places.values():
        held.update(place.on)
    room = {name: pool.gpus_per_node for pool in pools for name in node_names(pool)}
    for name, gpus in held.items():
        if gpus > room[name]:
            raise OverfullError(f"{name}: {gpus} of {room[name]} GPUs given")


class _Diary:
    """Which job was where, from when to when."""

    def __init__(self) -> None:
        self.stays: list[Stay] = []
        self._open: dict[str, tuple[Place, float]] = {}

    def note(self, now: float, lives: Sequence[Life]) -> None:
        """Close the stays that have ended, and open those that begin."""
        for life in lives:
            name = life.arrival.name
            held = self._open.get(name)
            if held is not None and held[0] != life.place:
                self.stays.append(Stay(name, held[0], held[1], life.completed or now))
                del self._open[name]
            if life.place is not None and name not in self._open:
                self._open[name] = (life.place, now)
