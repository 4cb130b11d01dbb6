"""The least that a day could have cost by who knows all that comes, as a linear program.

Each job must be done by when it was done on the day, and each service must answer as much. Known
are all arrivals, how fast each job is on any GPUs that it may run with (`speeds.py`), all requests,
and when spot can be had. So nothing that keeps these promises costs less. What is relaxed, each of
which only lowers it:

- GPUs are rented one by one and by the second, and are there at once. Only where a service answers
  must there be a whole node that it can be on, for it has no other.
- Within ten minutes only means count. Nothing waits for a node, moves, or loses work; a job starts
  once, and then has the best batch in every epoch.
- Replicas start at once, come in fractions, and answer what was answered in whichever ten minutes
  that is cheapest.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_bench.day.scene import recorded
from plimsoll_bench.provisioning.market import PRICES, Source
from plimsoll_bench.provisioning.speeds import Part, Way, parts_of
from plimsoll_bench.spot.series import TICK_SECONDS
from plimsoll_placement.lp.glop import OPTIMAL, glop
from plimsoll_placement.lp.program import INFINITY, Column, Program
from plimsoll_simulator.programs.serving import Service
from plimsoll_simulator.programs.training import Run
from plimsoll_simulator.story import Lived

HOUR: Final = 3600.0
_Use = dict[tuple[str, int], dict[Column, float]]
"""The GPUs that columns take of each type in each tick."""


@dataclass(slots=True)
class _Day:
    """The program as it grows."""

    program: Program
    cost: dict[Column, float]
    training: _Use
    serving: _Use
    rented: Mapping[tuple[str, int], dict[Column, Source]]


def bound_dollars(lived: Lived, sources: Sequence[Source]) -> float:
    """The bound for a day as it was lived. Ends the program if it is not found."""
    ticks = math.ceil(lived.seconds / TICK_SECONDS)
    day = _Day(Program(), {}, defaultdict(dict), defaultdict(dict), defaultdict(dict))
    for source in sources:
        for tick in range(ticks):
            _rent(day, source, tick)
    for service in lived.services:
        _serve(day, service)
    parts: dict[tuple[str, int], tuple[Part, ...]] = {}
    for run in lived.runs:
        application, least = recorded(run).application, run.job.spec.workers.min
        key = application.name, least
        if key not in parts:
            parts[key] = parts_of(application, least)
        _train(day, run, parts[key])
    _share(day, ticks)
    return _least(day)


def _rent(day: _Day, source: Source, tick: int) -> None:
    if source.is_there(tick * TICK_SECONDS):
        offering = source.offering
        column = day.program.column(source.most * offering.gpus)
        day.cost[column] = offering.dollars_per_hour / offering.gpus * TICK_SECONDS / HOUR
        day.rented[offering.gpu_type, tick][column] = source


def _serve(day: _Day, service: Service) -> None:
    """Answer as many requests as were answered, each tick's while they come, on whole nodes."""
    rates, answered = service.truth.requests, dict[Column, float]()
    ticks = math.ceil(rates.times[-1] / TICK_SECONDS)
    for tick in range(ticks):
        begins = tick * TICK_SECONDS
        spans = [*rates.spans(begins, begins + TICK_SECONDS)]
        came, peak = sum(s * rate for s, rate in spans), max(rate for _, rate in spans)
        if came <= 0:
            continue
        column = day.program.column(came)
        answered[column] = -1.0
        replicas = {kind: day.program.column() for kind in service.truth.answers if kind in PRICES}
        carried = {r: -service.truth.answers[k] * TICK_SECONDS for k, r in replicas.items()}
        day.program.at_most([(column, 1.0), *carried.items()], 0.0)
        nodes = [(column, 1.0 / (peak * TICK_SECONDS))]
        for kind, replica in replicas.items():
            day.serving[kind, tick][replica] = 1.0
            nodes += [
                (rented, -1.0 / source.offering.gpus)
                for rented, source in day.rented[kind, tick].items()
                if not source.is_spot
            ]
        day.program.at_most(nodes, 0.0)
    # A millionth less: what was added up in another order may be that much more than what came.
    day.program.at_most(answered.items(), -service.answered * (1 - 1e-6))


def _train(day: _Day, run: Run, parts: Sequence[Part]) -> None:
    """Do all parts of a job's work, and load once what it begins with, by when it was done."""
    if run.account.completed is None:
        raise SystemExit(f"{run.name} is not done: there is no bound")
    begins, ends = run.account.submitted, run.account.completed
    fewest = [Way(kind, run.job.spec.workers.min, 1.0) for kind in PRICES]
    start = Part(float(run.job.spec.checkpoint.restore_seconds), fewest)
    done: list[dict[Column, float]] = [{} for _ in (start, *parts)]
    for tick, seconds in _ticks(begins, ends):
        busy: list[tuple[Column, float]] = []
        for place, part in enumerate((start, *parts)):
            for way in part.ways:
                column = day.program.column()
                done[place][column] = -way.rate
                busy.append((column, 1.0))
                day.training[way.gpu_type, tick][column] = way.gpus / TICK_SECONDS
        day.program.at_most(busy, seconds)
    for place, part in enumerate((start, *parts)):
        day.program.at_most(done[place].items(), -part.seconds * (1 - 1e-6))


def _ticks(begins: float, ends: float) -> Iterator[tuple[int, float]]:
    """The ticks between two times, and how many seconds of each."""
    for tick in range(int(begins / TICK_SECONDS), math.ceil(ends / TICK_SECONDS)):
        first = tick * TICK_SECONDS
        yield tick, min(ends, first + TICK_SECONDS) - max(begins, first)


def _share(day: _Day, ticks: int) -> None:
    """What is used must be rented; services have on-demand GPUs only."""
    for kind in PRICES:
        for tick in range(ticks):
            serving, rented = day.serving[kind, tick], day.rented[kind, tick]
            lasting = [(c, -1.0) for c, source in rented.items() if not source.is_spot]
            day.program.at_most([*serving.items(), *lasting], 0.0)
            used = [*serving.items(), *day.training[kind, tick].items()]
            day.program.at_most([*used, *((column, -1.0) for column in rented)], 0.0)


def _least(day: _Day) -> float:
    solver = glop("use_preprocessing: true")
    columns = [solver.NumVar(0, most, "") for most in day.program.most]
    for row, limit in day.program.rows:
        constraint = solver.Constraint(-INFINITY, limit)
        for column, factor in row.items():
            constraint.SetCoefficient(columns[column], factor)
    objective = solver.Objective()
    objective.SetMaximization()
    for column, dollars in day.cost.items():
        objective.SetCoefficient(columns[column], -dollars)
    if solver.Solve() != OPTIMAL:
        raise SystemExit("the bound was not found: the linear program has no optimum")
    return -objective.Value()
