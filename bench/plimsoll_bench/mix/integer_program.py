"""The cheapest mix as an integer program, searched by SCIP: branch and bound with cuts.

Replicas are whole; the load of a model with one bucket is covered by them, that of several is
divided among their time as a fluid. The result is whole numbers of replicas and the loads that they
carry; the caller verifies them. SCIP compares costs to nine digits.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf

from plimsoll_bench.mix.scip import FEASIBLE, OPTIMAL, Effort, Scip, Variable, scip
from plimsoll_placement.estimate.mix.problem import Loads, MixProblem, Model, PoolName, Served

MICRODOLLARS = 1e6
"""Micro-dollars per dollar; the program counts in dollars, for numerical reasons."""


@dataclass(frozen=True, slots=True)
class Target:
    """The goal: least unserved of this priority, or the least cost if it is None.

    `unserved` is how much may be left of the loads of each priority; nothing if one is absent.
    """

    priority: int | None
    unserved: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Found:
    """An answer and a lower bound; in dollars per hour, or in load left unserved."""

    served: tuple[Served, ...]
    bound: float
    is_best: bool


@dataclass(frozen=True, slots=True)
class _Columns:
    """The variables of one model: replicas by option, loads by option and bucket, what is left."""

    replicas: tuple[Variable, ...]
    loads: tuple[tuple[Variable | None, ...], ...]
    unserved: tuple[Variable, ...]


def found(
    problem: MixProblem, target: Target, effort: Effort, hint: Sequence[Served] | None = None
) -> Found | None:
    """The best that a search finds; None if there is nothing or nothing was found in time."""
    solver = scip(effort)
    columns = [_columns(solver, problem, target, model) for model in problem.models]
    _supply_suffices(solver, problem, columns)
    _unserved_is_limited(solver, problem, target, columns)
    _set_goal(solver, problem, target, columns)
    if hint is not None:
        _begin_at(solver, columns, hint)
    ended = solver.Solve()
    if ended not in {OPTIMAL, FEASIBLE}:
        return None
    served = tuple(
        _served(model, each) for model, each in zip(problem.models, columns, strict=True)
    )
    return Found(served, solver.Objective().BestBound(), is_best=ended == OPTIMAL)


def _columns(solver: Scip, problem: MixProblem, target: Target, model: Model) -> _Columns:
    allowed = inf if model.priority == target.priority else target.unserved.get(model.priority, 0.0)
    columns = _Columns(
        tuple(
            solver.IntVar(0, _most(model, number, problem.supply), "")
            for number in range(len(model.options))
        ),
        _load_columns(solver, model),
        tuple(solver.NumVar(0, min(load, allowed), "") for load in model.loads),
    )
    if len(model.loads) == 1:
        _replicas_cover(solver, model, columns)
    else:
        _loads_are_carried(solver, model, columns)
        _time_suffices(solver, model, columns)
    return columns


def _load_columns(solver: Scip, model: Model) -> tuple[tuple[Variable | None, ...], ...]:
    if len(model.loads) == 1:
        return ()
    return tuple(
        tuple(
            solver.NumVar(0, load, "") if carries > 0 else None
            for load, carries in zip(model.loads, option.carries, strict=True)
        )
        for option in model.options
    )


def _most(model: Model, number: int, supply: Mapping[PoolName, int]) -> int:
    """The most replicas of an option that are of use and for which the pool has GPUs."""
    option = model.options[number]
    of_use = sum(
        -(-load // carries)
        for load, carries in zip(model.loads, option.carries, strict=True)
        if carries > 0
    )
    return min(of_use, supply.get(option.pool, 0) // option.gpus)


def _replicas_cover(solver: Scip, model: Model, columns: _Columns) -> None:
    """What the replicas carry plus what is left unserved is at least the load."""
    row = solver.Constraint(model.loads[0], inf)
    row.SetCoefficient(columns.unserved[0], 1)
    for option, replicas in zip(model.options, columns.replicas, strict=True):
        row.SetCoefficient(replicas, option.carries[0])


def _loads_are_carried(solver: Scip, model: Model, columns: _Columns) -> None:
    """Each bucket's load is carried by options or left unserved."""
    for bucket, load in enumerate(model.loads):
        row = solver.Constraint(load, load)
        row.SetCoefficient(columns.unserved[bucket], 1)
        for loads in columns.loads:
            carried = loads[bucket]
            if carried is not None:
                row.SetCoefficient(carried, 1)


def _time_suffices(solver: Scip, model: Model, columns: _Columns) -> None:
    """The shares of replica time that buckets take are no more than the replicas."""
    for number, (option, replicas) in enumerate(zip(model.options, columns.replicas, strict=True)):
        row = solver.Constraint(-inf, 0)
        row.SetCoefficient(replicas, -1)
        for carried, carries in zip(columns.loads[number], option.carries, strict=True):
            if carried is not None:
                row.SetCoefficient(carried, 1 / carries)


def _supply_suffices(solver: Scip, problem: MixProblem, columns: Sequence[_Columns]) -> None:
    """No pool gives more GPUs than it has."""
    taken: dict[PoolName, list[tuple[Variable, int]]] = defaultdict(list)
    for model, each in zip(problem.models, columns, strict=True):
        for option, replicas in zip(model.options, each.replicas, strict=True):
            taken[option.pool].append((replicas, option.gpus))
    for pool, uses in taken.items():
        row = solver.Constraint(-inf, problem.supply.get(pool, 0))
        for replicas, gpus in uses:
            row.SetCoefficient(replicas, gpus)


def _unserved_is_limited(
    solver: Scip, problem: MixProblem, target: Target, columns: Sequence[_Columns]
) -> None:
    """No more than allowed is left unserved of a priority's loads."""
    for priority, most in target.unserved.items():
        row = solver.Constraint(-inf, most)
        for model, each in zip(problem.models, columns, strict=True):
            for left in each.unserved if model.priority == priority else ():
                row.SetCoefficient(left, 1)


def _set_goal(
    solver: Scip, problem: MixProblem, target: Target, columns: Sequence[_Columns]
) -> None:
    goal = solver.Objective()
    goal.SetMinimization()
    for model, each in zip(problem.models, columns, strict=True):
        if target.priority is None:
            for option, replicas in zip(model.options, each.replicas, strict=True):
                goal.SetCoefficient(replicas, option.microdollars / MICRODOLLARS)
        elif model.priority == target.priority:
            for left in each.unserved:
                goal.SetCoefficient(left, 1)


def _begin_at(solver: Scip, columns: Sequence[_Columns], hint: Sequence[Served]) -> None:
    counts = [
        (replicas, float(count))
        for each, served in zip(columns, hint, strict=True)
        for replicas, count in zip(each.replicas, served.replicas, strict=True)
    ]
    solver.SetHint([replicas for replicas, _ in counts], [count for _, count in counts])


def _served(model: Model, columns: _Columns) -> Served:
    replicas = tuple(round(each.solution_value()) for each in columns.replicas)
    if len(model.loads) == 1:
        return Served(replicas, _filled(model, replicas))
    return Served(
        replicas,
        tuple(
            _within(
                count,
                option.carries,
                [0.0 if each is None else max(0.0, each.solution_value()) for each in loads],
            )
            for count, option, loads in zip(replicas, model.options, columns.loads, strict=True)
        ),
    )


def _filled(model: Model, replicas: Sequence[int]) -> Loads:
    """Fill one replica after the other, the cheapest for its load first."""
    left, loads = model.loads[0], [0] * len(replicas)
    prices = {
        number: option.microdollars / option.carries[0]
        for number, option in enumerate(model.options)
        if option.carries[0] > 0
    }
    for number in sorted(prices, key=lambda number: prices[number]):
        loads[number] = min(left, replicas[number] * model.options[number].carries[0])
        left -= loads[number]
    return tuple((float(load),) for load in loads)


def _within(replicas: int, carries: Sequence[int], loads: Sequence[float]) -> tuple[float, ...]:
    """The loads, slightly reduced if rounding made them too much for the replicas."""
    taken = sum(load / each for load, each in zip(loads, carries, strict=True) if each > 0)
    shrunk = min(1.0, replicas / taken) if taken else 1.0
    return tuple(load * shrunk for load in loads)


def least(bound: float) -> int:
    """A bound in whole micro-dollars that is surely below what it bounds."""
    return floor(bound * MICRODOLLARS * (1 - 1e-9)) if bound > 0 else 0


def most(load: float) -> float:
    """Slightly more than a load that was found, so that it can be found again despite rounding."""
    return ceil(load * (1 + 1e-9) * 1e3) / 1e3
